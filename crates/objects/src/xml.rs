//! The few texts that answers of a store have between tags. Called by `bucket`, `store` and `upload`.

/// What stands in the first element of this name.
pub(crate) fn element(document: &str, name: &str) -> Option<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let (_, rest) = document.split_once(&open)?;
    let (text, _) = rest.split_once(&close)?;
    Some(plain(text))
}

/// What stands in each element of this name; none of them is inside of another.
pub(crate) fn elements<'a>(document: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = document;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&open)?;
        let (inside, behind) = behind.split_once(&close)?;
        rest = behind;
        Some(inside)
    })
}

/// Without references to characters.
fn plain(text: &str) -> String {
    let named =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (reference, character)| text.replace(reference, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_names() {
        let document = "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>a &lt;b&gt; &amp;amp;</Message></Error>";
        assert_eq!(element(document, "Code").as_deref(), Some("NoSuchKey"));
        assert_eq!(element(document, "Message").as_deref(), Some("a <b> &amp;"));
        assert_eq!(element(document, "Key"), None);
        let list = "<L><C><Key>a</Key></C><C><Key>b</Key></C><C>";
        assert_eq!(elements(list, "C").collect::<Vec<_>>(), ["<Key>a</Key>", "<Key>b</Key>"]);
    }
}
