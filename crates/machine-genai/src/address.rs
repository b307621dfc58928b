//! Where a provider is, and what of it may be shown.
use genai::resolver::Endpoint;

use crate::builder::BuildError;

/// The library puts the rest of the path behind it as it is: it must end with a slash.
pub fn endpoint(url: &str) -> Result<Endpoint, BuildError> {
    let sound = reqwest::Url::parse(url).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
    });
    match sound {
        Some(url) => Ok(Endpoint::from_owned(format!("{}/", url.as_str().trim_end_matches('/')))),
        None => Err(BuildError::BaseUrl(shown(url))),
    }
}

/// An address without a user, a password, a query or a fragment. Where these cannot be told apart, nothing of it.
pub fn shown(url: &str) -> String {
    if !url.contains(['@', '?', '#']) {
        return url.to_owned();
    }
    let parsed = reqwest::Url::parse(url).ok().and_then(|mut url| {
        url.set_username("").and_then(|()| url.set_password(None)).ok()?;
        url.set_query(None);
        url.set_fragment(None);
        Some(url.into())
    });
    parsed.unwrap_or_else(|| "…".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http_and_ends_with_a_slash() {
        let base = |url| endpoint(url).map(|it| it.base_url().to_owned());
        assert_eq!(base("http://127.0.0.1:1/v1").as_deref(), Ok("http://127.0.0.1:1/v1/"));
        assert_eq!(base("http://h/v1//").as_deref(), Ok("http://h/v1/"));
        assert_eq!(base("http://h").as_deref(), Ok("http://h/"));
        for bad in ["", "127.0.0.1:8080", "ftp://h/", "/v1"] {
            assert_eq!(base(bad), Err(BuildError::BaseUrl(bad.into())));
        }
    }
}
