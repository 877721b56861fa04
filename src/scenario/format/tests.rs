use std::path::PathBuf;

use super::*;

fn shipped() -> Vec<PathBuf> {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

#[test]
fn every_shipped_scenario_is_valid_and_named_after_its_file() {
    let files = shipped();
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Some(&*scenario.name), file.file_stem().unwrap().to_str());
        assert!(!scenario.about.is_empty() && !scenario.expect.is_empty() && !scenario.expect_calm.is_empty());
        assert!(scenario.faults.plans.len() >= 10, "{} is not lively", scenario.name);
    }
}
