use std::borrow::Cow;

/// A published file, known by its size and SHA-256 before it is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// The file's name, the same on disk and at every mirror.
    pub name: Cow<'static, str>,
    /// The subfolder of the data folder that it lies in.
    pub folder: Cow<'static, str>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 as 64 lower-case hexadecimal digits.
    pub sha256: Cow<'static, str>,
}

/// The files of one published data set and the addresses that serve them.
pub(crate) struct Published {
    pub files: Files,
    pub mirrors: &'static [&'static str],
}

/// The files of a data set, by their format.
pub(crate) enum Files {
    /// Gzip idx files.
    Idx {
        train_images: PinnedFile,
        train_labels: PinnedFile,
        test_images: PinnedFile,
        test_labels: PinnedFile,
    },
    /// The gzip text files of USPS.
    Usps(Pair),
}

/// A file to train on and one to test with.
pub(crate) struct Pair {
    pub train: PinnedFile,
    pub test: PinnedFile,
}

impl Published {
    fn files(&self) -> Vec<&PinnedFile> {
        match &self.files {
            Files::Idx {
                train_images,
                train_labels,
                test_images,
                test_labels,
            } => vec![train_images, train_labels, test_images, test_labels],
            Files::Usps(pair) => vec![&pair.train, &pair.test],
        }
    }
}

/// Whether some published file, of whatever data set, has this SHA-256.
pub(crate) fn is_published(sha256: &str) -> bool {
    [&MNIST, &FASHION_MNIST, &USPS]
        .into_iter()
        .flat_map(Published::files)
        .chain([&ADULT.train, &ADULT.test])
        .any(|file| file.sha256 == sha256)
}

const fn pinned(
    folder: &'static str,
    name: &'static str,
    bytes: u64,
    sha256: &'static str,
) -> PinnedFile {
    PinnedFile {
        name: Cow::Borrowed(name),
        folder: Cow::Borrowed(folder),
        bytes,
        sha256: Cow::Borrowed(sha256),
    }
}

const TRAIN_IMAGES: &str = "train-images-idx3-ubyte.gz";
const TRAIN_LABELS: &str = "train-labels-idx1-ubyte.gz";
const TEST_IMAGES: &str = "t10k-images-idx3-ubyte.gz";
const TEST_LABELS: &str = "t10k-labels-idx1-ubyte.gz";

pub(crate) static MNIST: Published = Published {
    files: Files::Idx {
        train_images: pinned(
            "mnist",
            TRAIN_IMAGES,
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        train_labels: pinned(
            "mnist",
            TRAIN_LABELS,
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        test_images: pinned(
            "mnist",
            TEST_IMAGES,
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        test_labels: pinned(
            "mnist",
            TEST_LABELS,
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    },
    mirrors: &[
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ],
};

pub(crate) static FASHION_MNIST: Published = Published {
    files: Files::Idx {
        train_images: pinned(
            "fashion-mnist",
            TRAIN_IMAGES,
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        train_labels: pinned(
            "fashion-mnist",
            TRAIN_LABELS,
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
        test_images: pinned(
            "fashion-mnist",
            TEST_IMAGES,
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        test_labels: pinned(
            "fashion-mnist",
            TEST_LABELS,
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    },
    mirrors: &[
        // Plain HTTP: that bucket's website endpoint has no TLS. The pinned sum is what is trusted.
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ],
};

// The gzip wrapping is that repository's; what it holds are the files of the book's site.
pub(crate) static USPS: Published = Published {
    files: Files::Usps(Pair {
        train: pinned(
            "usps",
            "zip.train.gz",
            1_829_071,
            "66ebf231ab51f2cf6ac1a892d0f98ccffee1079d7a5db638c1f11f366046ca16",
        ),
        test: pinned(
            "usps",
            "zip.test.gz",
            439_208,
            "8dacc3c6e136af6c3488de9e5113a7daf140c8c2f1f0b61c54ee02f03f1a962f",
        ),
    }),
    mirrors: &[
        "https://raw.githubusercontent.com/dgkim5360/the-elements-of-statistical-learning-notebooks/2c13a4818379451bcce802bcd7917f4878e12977/data/zipcode/",
    ],
};

/// Census records; a table, not images.
pub(crate) static ADULT: Pair = Pair {
    train: pinned(
        "adult",
        "adult.data",
        3_974_305,
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    test: pinned(
        "adult",
        "adult.test",
        2_003_153,
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
};

pub(crate) const ADULT_MIRRORS: [&str; 1] =
    ["https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"];
