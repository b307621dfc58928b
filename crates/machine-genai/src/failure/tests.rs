use serde_json::json;

use super::*;

fn answered(status: u16, body: &Value) -> ModelError {
    let status = StatusCode::from_u16(status).expect("a status");
    http(status, &body.to_string(), &HeaderMap::new())
}

#[test]
fn c_m04_a_status_has_its_kind() {
    for (status, kind) in [
        (301, Failure::InvalidRequest),
        (400, Failure::InvalidRequest),
        (401, Failure::Auth),
        (402, Failure::Quota),
        (403, Failure::Auth),
        (404, Failure::InvalidRequest),
        (408, Failure::Timeout),
        (413, Failure::ContextOverflow),
        (429, Failure::RateLimit),
        (500, Failure::ServerError),
        (502, Failure::ServerError),
        (503, Failure::Overloaded),
        (504, Failure::Timeout),
        (529, Failure::Overloaded),
    ] {
        let error = answered(status, &json!({"error": {"message": "no"}}));
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{status}");
        assert!(error.message.ends_with(": no"), "{error}");
    }
}

#[test]
fn c_m04_the_providers_word_counts_more_than_the_status() {
    for (status, body, kind) in [
        (429, json!({"error": {"code": "insufficient_quota", "message": "m"}}), Failure::Quota),
        (
            400,
            json!({"error": {"code": "context_length_exceeded", "message": "m"}}),
            Failure::ContextOverflow,
        ),
        (400, json!({"error": {"message": "prompt is too long: 3 > 2"}}), Failure::ContextOverflow),
        (400, json!({"error": {"message": "Your credit balance is too low to"}}), Failure::Quota),
        (400, json!({"error": {"message": "m", "details": [{"reason": "API_KEY_INVALID"}]}}), Failure::Auth),
        (500, json!({"type": "error", "error": {"type": "overloaded_error"}}), Failure::Overloaded),
        (429, json!([{"error": {"status": "RESOURCE_EXHAUSTED", "message": "m"}}]), Failure::RateLimit),
        // A limit that is named in passing is no overflow.
        (429, json!({"error": {"message": "the maximum context length counts, too"}}), Failure::RateLimit),
    ] {
        assert_eq!(answered(status, &body).kind, kind, "{body}");
    }
}

#[test]
fn c_m04_an_error_in_the_stream_has_its_kind() {
    for (body, kind, status) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}),
            Failure::Overloaded,
            None,
        ),
        (json!({"code": "rate_limit_exceeded", "message": "m"}), Failure::RateLimit, None),
        (json!({"code": 502, "message": "m"}), Failure::ServerError, Some(502)),
        (json!({"code": 503, "status": "UNAVAILABLE", "message": "m"}), Failure::Overloaded, Some(503)),
        (json!({"type": "server_error", "message": "m"}), Failure::ServerError, None),
        (json!("out of memory"), Failure::Unknown, None),
    ] {
        let error = of_body(&body);
        assert_eq!((error.kind, error.status), (kind, status), "{body}");
        assert!(["m", "out of memory"].contains(&&*error.message), "{error}");
    }
}

#[test]
fn a_body_that_is_no_error_is_quoted() {
    let error = http(StatusCode::BAD_GATEWAY, " <html>x</html>\n", &HeaderMap::new());
    assert_eq!(&*error.message, "502 Bad Gateway: <html>x</html>");
    for (status, wanted) in [
        (StatusCode::BAD_GATEWAY, "502 Bad Gateway: the answer says no more"),
        (StatusCode::NOT_FOUND, "404 Not Found: nothing is there: the base URL may be wrong"),
    ] {
        assert_eq!(&*http(status, "", &HeaderMap::new()).message, wanted);
    }
}
