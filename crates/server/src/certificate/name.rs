//! What accounts ask of a certificate: its issuer and its subject, in the one-line form of OpenSSL that MySQL compares; and its
//! time.
//!
//! Invariant: any bytes may come in; what is no certificate is `None`. Names of rustls stay DER, and it has no text for them.
//! Called by `login` for certificates that have been verified, and by `status` for the server's own.

use auth::CertificateNames;

const INTEGER: u8 = 0x02;
const OBJECT: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;

/// OpenSSL's short names; an attribute without one is shown by its number.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.15", "businessCategory"),
    ("2.5.4.16", "postalAddress"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.18", "postOfficeBox"),
    ("2.5.4.20", "telephoneNumber"),
    ("2.5.4.41", "name"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.45", "x500UniqueIdentifier"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.65", "pseudonym"),
    ("2.5.4.72", "role"),
    ("2.5.4.97", "organizationIdentifier"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.3", "mail"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("1.2.840.113549.1.9.2", "unstructuredName"),
    ("1.2.840.113549.1.9.8", "unstructuredAddress"),
    ("1.3.6.1.4.1.311.60.2.1.1", "jurisdictionL"),
    ("1.3.6.1.4.1.311.60.2.1.2", "jurisdictionST"),
    ("1.3.6.1.4.1.311.60.2.1.3", "jurisdictionC"),
];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

pub(crate) fn names_of(certificate: &[u8]) -> Option<CertificateNames> {
    let fields = Fields::of(certificate)?;
    Some(CertificateNames { issuer: one_line(fields.issuer)?, subject: one_line(fields.subject)? })
}

/// From when until when it is good, as OpenSSL prints it: `Nov 28 14:19:34 2026 GMT`.
pub(crate) fn validity_of(certificate: &[u8]) -> Option<(String, String)> {
    let mut times = Elements(Fields::of(certificate)?.validity);
    Some((time_text(times.next()?)?, time_text(times.next()?)?))
}

/// The parts of a certificate that are read here.
struct Fields<'a> {
    issuer: &'a [u8],
    validity: &'a [u8],
    subject: &'a [u8],
}

impl<'a> Fields<'a> {
    fn of(certificate: &'a [u8]) -> Option<Self> {
        let signed = Elements(certificate).content_of(SEQUENCE)?;
        let mut fields = Elements(Elements(signed).content_of(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.content_of(VERSION)?;
        }
        fields.content_of(INTEGER)?;
        fields.content_of(SEQUENCE)?;
        Some(Fields {
            issuer: fields.content_of(SEQUENCE)?,
            validity: fields.content_of(SEQUENCE)?,
            subject: fields.content_of(SEQUENCE)?,
        })
    }
}

/// DER elements one after the other: tag and content of each. Ends early at what is none.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    fn content_of(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

/// `/C=SE/O=MySQL/CN=..`: bytes that are not printable ASCII are `\xHH`, and attributes of one level stand behind a `+`.
fn one_line(name: &[u8]) -> Option<String> {
    let mut line = String::new();
    for (tag, attributes) in Elements(name) {
        let attributes = Elements(attributes).filter(|_| tag == SET);
        for ((_, attribute), mark) in attributes.zip(std::iter::once('/').chain(std::iter::repeat('+'))) {
            let mut parts = Elements(attribute);
            let number = dotted(parts.content_of(OBJECT)?)?;
            let short = SHORT_NAMES.iter().find(|(dotted, _)| *dotted == number).map(|(_, short)| *short);
            line.push(mark);
            line.push_str(short.unwrap_or(&number));
            line.push('=');
            for &byte in parts.next()?.1 {
                match byte {
                    b'/' | b'+' => line.extend(['\\', char::from(byte)]),
                    b' '..=b'~' => line.push(char::from(byte)),
                    _ => line.push_str(&format!("\\x{byte:02X}")),
                }
            }
        }
    }
    Some(line)
}

/// The number of an attribute: `2.5.4.3`.
fn dotted(object: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut number = 0u64;
    for &byte in object {
        number = number.checked_mul(128)? | u64::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        // The first two numbers are one in the encoding.
        match text.is_empty() {
            true => {
                let first = (number / 40).min(2);
                text = format!("{first}.{}", number - first * 40);
            }
            false => text.push_str(&format!(".{number}")),
        }
        number = 0;
    }
    Some(text)
}

fn time_text((tag, digits): (u8, &[u8])) -> Option<String> {
    let digits = std::str::from_utf8(digits).ok()?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let year: u32 = digits.get(..2)?.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, digits.get(2..)?)
        }
        GENERALIZED_TIME => (digits.get(..4)?.parse().ok()?, digits.get(4..)?),
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<usize>().ok();
    let month = MONTHS.get(part(0)?.checked_sub(1)?)?;
    let (day, hour, minute, second) = (part(2)?, part(4)?, part(6)?, part(8)?);
    Some(format!("{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(change: impl FnOnce(&mut rcgen::CertificateParams)) -> Vec<u8> {
        let pair = rcgen::KeyPair::generate().expect("a key");
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("no names");
        change(&mut parameters);
        parameters.self_signed(&pair).expect("signed").der().to_vec()
    }

    #[test]
    fn names_are_as_openssl_prints_them_in_one_line() {
        let der = certificate(|parameters| {
            let mut name = rcgen::DistinguishedName::new();
            name.push(rcgen::DnType::CountryName, "SE");
            name.push(rcgen::DnType::OrganizationName, "Größe/Co");
            name.push(rcgen::DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "a@example.org");
            name.push(rcgen::DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99_999, 1]), "own");
            name.push(rcgen::DnType::CommonName, "client");
            parameters.distinguished_name = name;
        });
        let names = names_of(&der).expect("a certificate");
        // What MySQL 9.7 lets in, and `openssl x509 -subject -nameopt compat` prints, of such a certificate.
        let line =
            r"/C=SE/O=Gr\xC3\xB6\xC3\x9Fe\/Co/emailAddress=a@example.org/1.3.6.1.4.1.99999.1=own/CN=client";
        assert_eq!(names.subject, line);
        assert_eq!(names.issuer, line, "it signed itself");
    }

    #[test]
    fn attributes_of_one_level_are_joined() {
        let attribute = |last: u8, value: &[u8]| {
            let object = [OBJECT, 3, 0x55, 0x04, last, 0x0c, value.len() as u8];
            [&[SEQUENCE, (object.len() + value.len()) as u8], &object[..], value].concat()
        };
        let level = |attributes: &[u8]| [&[SET, attributes.len() as u8], attributes].concat();
        let first = level(&[attribute(6, b"SE"), attribute(10, br"a\b+c=d")].concat());
        let name = [first, level(&attribute(3, b"cli/ent\n"))].concat();
        // Checked as above.
        assert_eq!(one_line(&name).as_deref(), Some(r"/C=SE+O=a\b\+c=d/CN=cli\/ent\x0A"));
    }

    #[test]
    fn times_are_as_openssl_prints_them() {
        let der = certificate(|parameters| {
            parameters.not_before = rcgen::date_time_ymd(2026, 11, 8);
            parameters.not_after = rcgen::date_time_ymd(2050, 1, 2);
        });
        let (from, until) = validity_of(&der).expect("a certificate");
        assert_eq!((from.as_str(), until.as_str()), ("Nov  8 00:00:00 2026 GMT", "Jan  2 00:00:00 2050 GMT"));
    }

    #[test]
    fn what_is_no_certificate_has_no_name() {
        let der = certificate(|_| {});
        for end in 0..der.len() {
            let _ = names_of(&der[..end]);
        }
        for at in 0..der.len().min(300) {
            let mut damaged = der.clone();
            damaged[at] ^= 0xff;
            let _ = (names_of(&damaged), validity_of(&damaged));
        }
        assert_eq!(names_of(b""), None);
    }
}
