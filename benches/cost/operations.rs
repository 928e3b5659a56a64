//! The multiplications with addition of a step of the autoencoder, a record, layer by layer.
//!
//! A layer of `F` of them forward takes `F` more for its weight gradient and `F` for the cotangents at its
//! input, which the encoder's first layer does not need. A plain step takes all three once. A private step
//! pulls `d` rows through the encoder instead of one, and forms the rows of a convolution: `d F` of them, or
//! `F + d F / 4` in front of a pool, where a cotangent is constant on each block of four pixels. They are
//! formed once, for the Gram matrix (`d (d + 1) / 2` a parameter) and for the weighted sum (`d` a parameter)
//! both. A fully connected layer needs no rows for its Gram matrix.

/// One layer with parameters.
struct Layer {
    name: &'static str,
    shape: Shape,
}

enum Shape {
    /// 3x3 over planes of `side x side`, perhaps in front of a pool.
    Conv {
        channels: [u64; 2],
        side: u64,
        pooled: bool,
    },
    Linear {
        inputs: u64,
        outputs: u64,
    },
}

/// What a step takes of one layer.
#[derive(Clone, Copy, Default)]
pub(crate) struct Operations {
    /// Without privacy.
    pub plain: u64,
    pub private: u64,
}

impl Operations {
    /// What privacy costs with kernels of equal speed.
    pub(crate) fn ratio(self) -> f64 {
        self.private as f64 / self.plain as f64
    }
}

const fn conv(name: &'static str, channels: [u64; 2], side: u64, pooled: bool) -> Layer {
    let shape = Shape::Conv {
        channels,
        side,
        pooled,
    };
    Layer { name, shape }
}

const fn linear(name: &'static str, inputs: u64, outputs: u64) -> Layer {
    let shape = Shape::Linear { inputs, outputs };
    Layer { name, shape }
}

fn encoder(d: u64) -> [Layer; 6] {
    [
        conv("encoder, conv 1 to 8", [1, 8], 28, true),
        conv("encoder, conv 8 to 16", [8, 16], 14, true),
        conv("encoder, conv 16 to 16", [16, 16], 7, false),
        linear("encoder, 784 to 128", 784, 128),
        linear("encoder, 128 to 64", 128, 64),
        linear("encoder, 64 to d", 64, d),
    ]
}

fn decoder(d: u64) -> [Layer; 6] {
    [
        linear("decoder, d to 64", d, 64),
        linear("decoder, 64 to 128", 64, 128),
        linear("decoder, 128 to 784", 128, 784),
        conv("decoder, conv 16 to 16", [16, 16], 7, false),
        conv("decoder, conv 16 to 8", [16, 8], 14, false),
        conv("decoder, conv 8 to 1", [8, 1], 28, false),
    ]
}

impl Layer {
    fn parameters(&self) -> u64 {
        match self.shape {
            Shape::Conv { channels, .. } => (9 * channels[0] + 1) * channels[1],
            Shape::Linear { inputs, outputs } => (inputs + 1) * outputs,
        }
    }

    /// With `rows` cotangents in the private step; `first` where none are owed to the input.
    fn operations(&self, rows: u64, first: bool) -> Operations {
        let pairs = rows * (rows + 1) / 2;
        let (forward, private) = match self.shape {
            Shape::Conv {
                channels,
                side,
                pooled,
            } => {
                let forward = 9 * channels[0] * channels[1] * side * side;
                let formed = if pooled {
                    forward + rows * forward / 4
                } else {
                    rows * forward
                };
                (forward, formed + (pairs + rows) * self.parameters())
            }
            Shape::Linear { inputs, outputs } => {
                let forward = inputs * outputs;
                let gram = inputs + pairs * outputs;
                (forward, gram + rows * outputs + forward)
            }
        };
        let below = if first { 0 } else { forward };
        Operations {
            plain: 2 * forward + below,
            private: forward + rows * below + private,
        }
    }
}

/// Each layer's, first to last, for `d` latent dimensions, and their sum.
pub(crate) fn layers(d: u64) -> (Vec<(&'static str, Operations)>, Operations) {
    let encoder = encoder(d).into_iter().enumerate();
    let encoder = encoder.map(|(index, layer)| (layer.name, layer.operations(d, index == 0)));
    let decoder = decoder(d).map(|layer| (layer.name, layer.operations(1, false)));
    let layers: Vec<_> = encoder.chain(decoder).collect();
    let total = layers
        .iter()
        .fold(Operations::default(), |sum, (_, one)| Operations {
            plain: sum.plain + one.plain,
            private: sum.private + one.private,
        });
    (layers, total)
}

/// Prints them, a line a layer, in thousands.
pub(crate) fn print(d: u64) {
    let (layers, total) = layers(d);
    let thousands = |count: u64| count as f64 / 1e3;
    println!("| multiply-adds a record, thousands | plain | private | ratio |");
    println!("|---|---|---|---|");
    for (name, one) in layers.into_iter().chain([("all", total)]) {
        println!(
            "| {name} | {:.0} | {:.0} | {:.2} |",
            thousands(one.plain),
            thousands(one.private),
            one.ratio()
        );
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use model::swae::SwaeConfig;
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_layers_are_the_autoencoder_s() {
        let config = SwaeConfig {
            latent: 6,
            classes: 0,
        };
        let model = config.init(
            &mut rand_chacha::ChaCha20Rng::seed_from_u64(1),
            &Device::flex(),
        );
        let parameters: usize = model.parameters().iter().map(|slot| slot.len()).sum();
        let every = encoder(6).into_iter().chain(decoder(6));
        let counted: u64 = every.map(|layer| layer.parameters()).sum();
        assert_eq!(counted, parameters as u64);
        let (_, total) = layers(6);
        assert_eq!((total.plain / 1000, total.private / 1000), (2967, 6305));
    }
}
