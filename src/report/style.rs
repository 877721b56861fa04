//! Colours, where there is somebody to see them.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are written.
    pub colour: bool,
}

impl Style {
    /// No colours.
    pub const PLAIN: Style = Style { colour: false };

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What holds.
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What is broken.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// What deserves a look.
    pub fn notable(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// What stands out.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What stands back.
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }
}
