//! Signatures of requests: AWS Signature Version 4, the payload included.
//!
//! Invariant: the headers that are signed are those that are sent. Called by `http`.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;

use crate::settings::Settings;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";

/// A moment in UTC as signatures have it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// `20260302`
    pub day: String,
    /// `T140259Z`
    pub time: String,
}

impl Moment {
    /// Of seconds since 1970.
    pub fn of(unix_s: u64) -> Moment {
        let (days, second) = (unix_s / 86_400, unix_s % 86_400);
        // Years that begin in March, in eras of 400 years.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        Moment {
            day: format!("{year:04}{month:02}{day:02}"),
            time: format!("T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60),
        }
    }

    pub fn stamp(&self) -> String {
        format!("{}{}", self.day, self.time)
    }
}

/// What is signed.
pub(crate) struct Unsigned<'a> {
    pub method: &'a str,
    /// Escaped.
    pub path: &'a str,
    /// Escaped, in the order of their names.
    pub query: &'a str,
    pub payload_digest: &'a str,
    /// Names in lower case.
    pub headers: &'a [(&'static str, String)],
}

/// In hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest(&SHA256, bytes).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// The header `Authorization`.
pub(crate) fn authorization(settings: &Settings, moment: &Moment, request: &Unsigned<'_>) -> String {
    let mut headers: Vec<_> = request.headers.iter().collect();
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let signed = names.join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let Unsigned { method, path, query, payload_digest, .. } = request;
    let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{signed}\n{payload_digest}");
    let scope = format!("{}/{}/{SERVICE}/aws4_request", moment.day, settings.region);
    let to_sign = format!("{ALGORITHM}\n{}\n{scope}\n{}", moment.stamp(), sha256(canonical.as_bytes()));
    let mut key = keyed(format!("AWS4{}", settings.secret_key).as_bytes(), &moment.day);
    for part in [settings.region.as_str(), SERVICE, "aws4_request", &to_sign] {
        key = keyed(&key, part);
    }
    let signature = hexadecimal(&key);
    format!(
        "{ALGORITHM} Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
        settings.access_key
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_and_times() {
        for (unix_s, expected) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_796_083_199, "20261130T235959Z"),
        ] {
            assert_eq!(Moment::of(unix_s).stamp(), expected);
        }
    }

    /// The example of Amazon's documentation of signatures: GET of an object with a range.
    #[test]
    fn a_known_request_has_the_known_signature() {
        let settings = Settings {
            access_key: "AKIAIOSFODNN7EXAMPLE".into(),
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            session_token: None,
            region: "us-east-1".into(),
            endpoint: None,
            authorities: None,
        };
        let moment = Moment::of(1_369_353_600);
        let empty = sha256(b"");
        let headers = [
            ("host", "examplebucket.s3.amazonaws.com".to_owned()),
            ("range", "bytes=0-9".to_owned()),
            ("x-amz-content-sha256", empty.clone()),
            ("x-amz-date", moment.stamp()),
        ];
        let request = Unsigned {
            method: "GET",
            path: "/test.txt",
            query: "",
            payload_digest: &empty,
            headers: &headers,
        };
        let expected = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
                        SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, \
                        Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        assert_eq!(authorization(&settings, &moment, &request), expected);
    }
}
