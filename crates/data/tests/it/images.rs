//! Labelled images: shapes, accessors and what is refused.

use data::{DataError, Records};

use crate::told;

fn three() -> Records {
    Records::new(vec![0, 51, 102, 153, 204, 255], vec![2, 0, 2], 1, 2, 4).unwrap()
}

#[test]
fn accessors_agree() {
    let set = three();
    assert_eq!((set.len(), set.height(), set.width()), (3, 1, 2));
    assert_eq!((set.image_size(), set.classes()), (2, 4));
    assert_eq!(set.label(1), Some(0));
    assert_eq!(*set.image_bytes(2).unwrap(), [204, 255]);
    assert_eq!(set.gather(&[2, 0]).unwrap(), [0.8, 1.0, 0.0, 0.2]);
    let classes = [vec![0.4, 0.6], vec![], vec![0.0, 0.2, 0.8, 1.0], vec![]];
    assert_eq!(set.by_class().unwrap(), classes);
    assert_eq!(set.class_sizes(), [1, 0, 2, 0]);
    assert_eq!(
        set.indices_by_class(),
        [vec![1], vec![], vec![0, 2], vec![]]
    );
    assert_eq!(set.first_of_each_class(), [Some(1), None, Some(0), None]);
}

#[test]
fn past_the_end_there_is_nothing() {
    let set = three();
    for index in [3, usize::MAX / 2, usize::MAX] {
        assert_eq!(set.label(index), None);
        assert!(set.image_bytes(index).is_err());
        assert!(set.gather(&[0, index]).is_err());
    }
    assert!(set.gather(&[]).unwrap().is_empty());
}

#[test]
fn truncation_keeps_the_first() {
    let mut set = three();
    set.truncate(2).unwrap();
    assert_eq!(
        (&*set.pixels().unwrap(), set.labels()),
        (&[0, 51, 102, 153][..], &[2, 0][..])
    );
    for count in [0, 3] {
        let error = set.truncate(count).unwrap_err();
        assert!(told(&error).contains("1 to 2;"), "{error}");
    }
}

#[test]
fn records_can_be_selected() {
    let set = three();
    let chosen = set.select(&[2, 0, 2]).unwrap();
    assert_eq!(*chosen.pixels().unwrap(), [204, 255, 0, 51, 204, 255]);
    assert_eq!(chosen.labels(), [2, 2, 2]);
    assert_eq!(chosen.classes(), 4);
    assert_eq!(set.select(&[0, 1, 2]).unwrap(), set);
    for index in [3, usize::MAX] {
        let error = set.select(&[0, index]).unwrap_err();
        assert!(told(&error).contains("of 3 records"));
        assert!(told(&error).contains("expected 0 to 2"), "{error}");
    }
    assert!(matches!(
        set.select(&[]).unwrap_err(),
        DataError::Request(_)
    ));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let refused = |pixels: usize, labels: &[u8], height, width, classes| {
        Records::new(vec![0; pixels], labels.to_vec(), height, width, classes).unwrap_err()
    };
    for error in [
        refused(0, &[], 1, 1, 2),
        refused(0, &[0], 0, 1, 2),
        refused(0, &[0], 1, 0, 2),
        refused(1, &[0], 1, 1, 0),
        refused(1, &[0], 1, 1, 257),
        refused(3, &[0], 2, 2, 1),
        refused(3, &[0; 3], usize::MAX, 2, 1),
    ] {
        assert!(matches!(error, DataError::Request(_)), "{error}");
    }
    let error = refused(2, &[1, 5], 1, 1, 5);
    assert!(told(&error).contains("index 1: expected 0 to 4"));
}
