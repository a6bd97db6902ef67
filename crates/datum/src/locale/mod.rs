//! The locales of `lc_time_names` and FORMAT: names of months and days, and how digits are grouped.
//!
//! `locales.tsv` holds what MySQL 9.7 shows for each, one a line in the order of MySQL's numbers: name, decimal point,
//! separator of thousands (`\0` is a zero byte), how it groups, then months, short months, days from Monday on and
//! short days. Callers: DATE_FORMAT, DAYNAME, MONTHNAME, FORMAT.
use std::sync::OnceLock;

/// In the order of their numbers.
pub static LOCALE_NAMES: [&str; 111] = [
    "en_US", "en_GB", "ja_JP", "sv_SE", "de_DE", "fr_FR", "ar_AE", "ar_BH", "ar_JO", "ar_SA", "ar_SY",
    "be_BY", "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT", "es_ES", "et_EE", "eu_ES", "fi_FI", "fo_FO",
    "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "ko_KR", "lt_LT",
    "lv_LV", "mk_MK", "mn_MN", "ms_MY", "nb_NO", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "ru_RU",
    "ru_UA", "sk_SK", "sl_SI", "sq_AL", "sr_RS", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK",
    "vi_VN", "zh_CN", "zh_TW", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_KW", "ar_LB", "ar_LY", "ar_MA",
    "ar_OM", "ar_QA", "ar_SD", "ar_TN", "ar_YE", "de_BE", "de_CH", "de_LU", "en_AU", "en_CA", "en_IN",
    "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO", "es_EC",
    "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV", "es_US", "es_UY",
    "es_VE", "fr_BE", "fr_CA", "fr_CH", "fr_LU", "it_IT", "nl_BE", "no_NO", "sv_FI", "zh_HK", "el_GR",
    "rm_CH",
];

static DATA: &str = include_str!("locales.tsv");

#[derive(Debug)]
pub struct Locale {
    pub name: &'static str,
    pub decimal_point: &'static str,
    pub separator: &'static str,
    /// Digits of a group: of the last one, and of those before it. Zero does not group.
    pub groups: (usize, usize),
    pub months: Vec<&'static str>,
    pub short_months: Vec<&'static str>,
    /// From Monday on.
    pub days: Vec<&'static str>,
    pub short_days: Vec<&'static str>,
}

fn locales() -> &'static [Locale] {
    static LOCALES: OnceLock<Vec<Locale>> = OnceLock::new();
    LOCALES.get_or_init(|| DATA.lines().filter_map(read).collect())
}

fn read(line: &'static str) -> Option<Locale> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let (name, decimal_point, separator, groups) = (next()?, next()?, next()?, next()?);
    let mut names = || next().map(|field| field.split('|').collect::<Vec<_>>());
    Some(Locale {
        name,
        decimal_point,
        separator: if separator == "\\0" { "\0" } else { separator },
        groups: match groups {
            "" => (0, 0),
            "3;2" => (3, 2),
            _ => (3, 3),
        },
        months: names()?,
        short_months: names()?,
        days: names()?,
        short_days: names()?,
    })
}

impl Locale {
    /// en_US.
    pub fn english() -> &'static Locale {
        &locales()[0]
    }

    pub fn by_name(name: &str) -> Option<&'static Locale> {
        locales().iter().find(|locale| locale.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_line() {
        let read: Vec<&str> = locales().iter().map(|locale| locale.name).collect();
        assert_eq!(read, LOCALE_NAMES);
        for locale in locales() {
            assert_eq!((locale.months.len(), locale.short_months.len()), (12, 12), "{}", locale.name);
            assert_eq!((locale.days.len(), locale.short_days.len()), (7, 7), "{}", locale.name);
        }
    }
}
