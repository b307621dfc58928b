//! How long a server asks to wait (M06).
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Milliseconds, from the headers or, as Gemini says it, from the body.
pub fn milliseconds(headers: &HeaderMap, body: &Value) -> Option<u64> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let exact = header("retry-after-ms").and_then(|text| scaled(text, 1.0));
    let whole = || {
        header("retry-after").and_then(|text| scaled(text, 1_000.0).or_else(|| until(text, header("date")?)))
    };
    exact.or_else(whole).or_else(|| in_body(body))
}

fn scaled(text: &str, unit: f64) -> Option<u64> {
    let wait = text.parse::<f64>().ok().filter(|wait| wait.is_finite() && *wait >= 0.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
    #[expect(clippy::cast_sign_loss, reason = "it is not negative")]
    Some((wait * unit).ceil() as u64)
}

/// A date is as far away as the server's own clock says: ours may go wrong.
fn until(then: &str, now: &str) -> Option<u64> {
    let seconds = date(then)?.saturating_sub(date(now)?);
    Some(u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000))
}

/// Seconds since the epoch of `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, text) = text.split_once(", ")?;
    let mut parts = text.strip_suffix(" GMT")?.split([' ', ':']);
    let day: i64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()?;
    let mut number = || parts.next()?.parse::<i64>().ok();
    let (year, hours, minutes, seconds) = (number()?, number()?, number()?, number()?);
    let is_sound = (0..10_000).contains(&year)
        && (1..=31).contains(&day)
        && (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        // A leap second.
        && (0..=60).contains(&seconds);
    if !is_sound {
        return None;
    }
    // Days since the epoch; a year begins in March, so that the leap day is its last.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (306 * month + 5) / 10
        + day
        - 719_469;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

/// `"retryDelay": "34s"` among the details of the error.
fn in_body(body: &Value) -> Option<u64> {
    let details = body.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    scaled(delay.strip_suffix('s')?, 1_000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(headers: &[(&'static str, &'static str)]) -> Option<u64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        milliseconds(&map, &Value::Null)
    }

    #[test]
    fn c_m06_seconds_milliseconds_and_dates() {
        assert_eq!(of(&[("retry-after", "7")]), Some(7_000));
        assert_eq!(of(&[("retry-after", "0.25")]), Some(250));
        assert_eq!(of(&[("retry-after", "7"), ("retry-after-ms", "12.5")]), Some(13));
        let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), now]), Some(60_000));
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), now]), Some(0));
    }

    #[test]
    fn what_is_no_wait_is_none() {
        assert_eq!(of(&[]), None);
        for bad in
            ["-1", "soon", "NaN", "inf", "Sun, 06 Nov 1994 08:50:37 GMT", "Sun, 06 Foo 1994 08:50:37 GMT"]
        {
            assert_eq!(of(&[("retry-after", bad)]), None, "{bad}");
        }
        assert_eq!(of(&[("retry-after", "1e300")]), Some(u64::MAX));
    }

    #[test]
    fn a_date_is_counted_in_seconds() {
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(date("Thu, 29 Feb 2024 23:59:59 GMT"), Some(1_709_251_199));
        assert_eq!(date("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200));
    }

    #[test]
    fn a_date_that_is_none_is_not_counted() {
        let most = i64::MAX.to_string();
        for at in 0..6 {
            for bad in [&*most, "-1", "61", "99999999999999999999", ""] {
                // A year may be 61.
                if (at, bad) != (2, "61") {
                    let mut parts = ["06", "Nov", "1994", "08", "49", "37"];
                    parts[at] = bad;
                    let [day, month, year, hours, minutes, seconds] = parts;
                    let text = format!("Sun, {day} {month} {year} {hours}:{minutes}:{seconds} GMT");
                    assert_eq!(date(&text), None, "{text}");
                }
            }
        }
    }

    #[test]
    fn c_m06_gemini_says_it_in_the_body() {
        let body = json!({"details": [{"@type": "x"}, {"retryDelay": "34.5s"}]});
        assert_eq!(milliseconds(&HeaderMap::new(), &body), Some(34_500));
    }
}
