//! Sequences of burn's layers.

mod activations;
mod pools;
mod shape;

use std::collections::BTreeSet;
use std::marker::PhantomData;

use burn::module::Module;
use burn::nn::conv::{Conv1d, Conv2d, ConvTranspose2d};
use burn::nn::{Embedding, GroupNorm, LayerNorm, Linear, RmsNorm};
use burn::tensor::Tensor;

use super::composite::{Concat, Residual};
use super::conv::Conv;
use super::conv_transpose::ConvTranspose;
use super::dropout::Dropout;
use super::formed::Formed;
use super::geometry::Reason;
use super::norm::Norm;
use super::transpose::Transpose;
use super::{embedding, linear};
use crate::per_sample::LayerError;
use crate::per_sample::{Layer, Stack};
use shape::{fits, image, last_replaced, places, sequence};

/// A layer, and the shape of a record after it.
type Added = (Box<dyn Layer>, Vec<usize>);

/// Layers of `burn::nn` in the order in which a record passes them.
///
/// A chain knows the shape of a record between any two layers, so [`Chain::build`] names the layer that does not fit
/// and both numbers. A layer reads the values of its parameters when it is added, on a device with autodiff or
/// without; parameters that do not require gradients get none. The chain borrows the model: build a new chain for new
/// weights, which costs nothing. Autodiff through a stack sees the model's parameters in [`Stack::output`] alone, and
/// only if the input has a graph.
///
/// # Example
///
/// ```
/// use burn::nn::conv::{Conv2d, Conv2dConfig};
/// use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::{Device, Tensor};
/// use dp_core::per_sample::LayerError;
/// use dp_core::per_sample::nn::Chain;
/// use dp_core::per_sample::{Needs, Stack, norm_clip_weights, Rounding};
///
/// struct Digits {
///     conv: Conv2d,
///     pool: MaxPool2d,
///     fc: Linear,
/// }
///
/// impl Digits {
///     fn stack(&self) -> Result<Stack<'_>, LayerError> {
///         Chain::image([1, 28, 28])
///             .conv2d(&self.conv)
///             .relu()
///             .max_pool2d(&self.pool)
///             .flatten()
///             .linear(&self.fc)
///             .build()
///     }
/// }
///
/// # fn main() -> Result<(), LayerError> {
/// let device = Device::flex();
/// let model = Digits {
///     conv: Conv2dConfig::new([1, 4], [5, 5]).with_stride([2, 2]).init(&device),
///     pool: MaxPool2dConfig::new([2, 2]).init(),
///     fc: LinearConfig::new(4 * 6 * 6, 10).init(&device),
/// };
/// let stack = model.stack()?;
/// let seen = stack.forward(Tensor::ones([3, 28 * 28], &device));
/// // One cotangent a record: the norms of three gradients that are never formed.
/// let needs = Needs { gram: true, input: false };
/// let pulled = stack.pull_back(&seen, Tensor::ones([3, 1, 10], &device), needs);
/// let squared = pulled.gram.clone().flatten(0, 2);
/// let weights = norm_clip_weights(squared, 1.0, Rounding::SINGLE);
/// let sum = stack.gradient(&seen, &pulled, weights.reshape([3, 1]));
/// assert_eq!(sum.len(), 4);
///
/// let wrong = Chain::features(784).linear(&model.fc).build();
/// let error = wrong.err().map(|error| error.to_string()).unwrap_or_default();
/// assert!(error.contains("takes 144 inputs, and 784 reach it"), "{error}");
/// # Ok(())
/// # }
/// ```
pub struct Chain<'a> {
    layers: Vec<Box<dyn Layer>>,
    shape: Vec<usize>,
    activation: Option<usize>,
    /// The first error.
    error: Option<LayerError>,
    model: PhantomData<&'a ()>,
}

impl<'a> Chain<'a> {
    /// Starts a chain for records of any shape, in memory order: a batch is `[n, product of the shape]`.
    pub fn new(shape: impl Into<Vec<usize>>) -> Self {
        Self {
            layers: Vec::new(),
            shape: shape.into(),
            activation: None,
            error: None,
            model: PhantomData,
        }
    }

    /// Starts a chain for records of `d` numbers.
    pub fn features(d: usize) -> Self {
        Self::new([d])
    }

    /// Starts a chain for images, `[channels, height, width]`.
    pub fn image(shape: [usize; 3]) -> Self {
        Self::new(shape)
    }

    /// Starts a chain for sequences, `[channels, length]`.
    pub fn sequence(shape: [usize; 2]) -> Self {
        Self::new(shape)
    }

    /// Starts a chain for sequences of `length` tokens, for [`Chain::embedding`].
    pub fn tokens(length: usize) -> Self {
        Self::new([length])
    }

    /// The shape of a record after the last layer.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Makes a stack of the layers.
    ///
    /// # Errors
    ///
    /// [`LayerError::Misfit`] for the first layer whose input does not fit, and for a parameter that two layers
    /// share: the norm of its gradient cannot be computed from theirs.
    pub fn build(self) -> Result<Stack<'a>, LayerError> {
        let layers = self.checked()?.layers;
        Ok(Stack::new(layers))
    }

    /// Makes a stack of the layers before [`Chain::mark_latent`], and one of those after it, if there are any.
    ///
    /// Without a mark all layers are in the first stack.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::build`].
    pub fn split(self) -> Result<(Stack<'a>, Option<Stack<'a>>), LayerError> {
        let mut chain = self.checked()?;
        let place = chain.activation.unwrap_or(chain.layers.len());
        let behind = chain.layers.split_off(place);
        let head = (!behind.is_empty()).then(|| Stack::new(behind));
        Ok((Stack::new(chain.layers), head))
    }

    fn checked(self) -> Result<Self, LayerError> {
        let mut seen = BTreeSet::new();
        for (index, layer) in self.layers.iter().enumerate() {
            for slot in layer.parameters() {
                if !seen.insert(slot.id.val()) && self.error.is_none() {
                    return Err(LayerError::Misfit {
                        number: index + 1,
                        layer: layer.name(),
                        reason: "shares a parameter with another layer, so that the norm of its gradient is \
                                 not made of theirs"
                            .into(),
                    });
                }
            }
        }
        match self.error {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// Marks the activation that a penalty looks at: see [`Chain::split`].
    pub fn mark_latent(mut self) -> Self {
        self.activation = Some(self.layers.len());
        self
    }

    /// Adds any module by autodiff, one record and one cotangent at a time, for modules without a layer here. It is
    /// slow. [`Stack::formed_by_record`] names it.
    ///
    /// - `shape`: the shape of a record after it;
    /// - `forward`: maps `[1, features]` to `[1, product of the shape]`.
    pub fn by_record<M: Module + 'static>(
        self,
        name: &'static str,
        module: &'a M,
        shape: impl Into<Vec<usize>>,
        forward: impl Fn(&M, Tensor<2>) -> Tensor<2> + 'static,
    ) -> Self {
        self.add_inner(name, |_| {
            let layer = Formed::new(name, module, forward)?;
            Ok(Ok((Box::new(layer), shape.into())))
        })
    }

    /// Applies `y = x W + b` over the last axis.
    pub fn linear(self, module: &'a Linear) -> Self {
        self.add("Linear", |shape| {
            let inputs = module.weight.lazy_shape()[0];
            let places = places(shape, inputs)?;
            let outputs = module.weight.lazy_shape()[1];
            Ok((
                Box::new(linear::Linear::new(module, places)),
                last_replaced(shape, outputs),
            ))
        })
    }

    /// Adds a convolution of images.
    pub fn conv2d(self, module: &'a Conv2d) -> Self {
        self.add("Conv2d", |shape| {
            let [channels, height, width] = image(shape)?;
            let takes = module.weight.lazy_shape()[1] * module.groups;
            fits("channels", takes, channels)?;
            let (layer, shape) = Conv::of_images(module, [height, width])?;
            Ok((Box::new(layer), shape.into()))
        })
    }

    /// Adds a convolution of sequences, `[channels, length]`.
    pub fn conv1d(self, module: &'a Conv1d) -> Self {
        self.add("Conv1d", |shape| {
            let [channels, length] = sequence(shape)?;
            let takes = module.weight.lazy_shape()[1] * module.groups;
            fits("channels", takes, channels)?;
            let (layer, shape) = Conv::of_sequences(module, length)?;
            Ok((Box::new(layer), shape.into()))
        })
    }

    /// Adds a transposed convolution of images.
    pub fn conv_transpose2d(self, module: &'a ConvTranspose2d) -> Self {
        self.add("ConvTranspose2d", |shape| {
            let [channels, height, width] = image(shape)?;
            fits("channels", module.weight.lazy_shape()[0], channels)?;
            let (layer, shape) = ConvTranspose::new(module, [height, width])?;
            Ok((Box::new(layer), shape.into()))
        })
    }

    /// Looks up a vector for each token: `[length] -> [length, d]`.
    ///
    /// A record is a row of token numbers. A record with a value that is not a token number has an output that is not
    /// finite, and so contributes nothing to a private step.
    pub fn embedding(self, module: &'a Embedding) -> Self {
        self.add("Embedding", |shape| {
            let [length] = *shape else {
                return Err(format!("takes tokens, [length], and {shape:?} reaches it"));
            };
            let width = module.weight.lazy_shape()[1];
            let layer = embedding::Embedding::new(module);
            Ok((Box::new(layer), vec![length, width]))
        })
    }

    /// Normalises over the last axis.
    pub fn layer_norm(self, module: &'a LayerNorm) -> Self {
        self.add("LayerNorm", |shape| {
            let places = places(shape, module.gamma.lazy_shape()[0])?;
            Ok((Box::new(Norm::layer(module, places)), shape.to_vec()))
        })
    }

    /// Scales the last axis to a mean square of one.
    pub fn rms_norm(self, module: &'a RmsNorm) -> Self {
        self.add("RmsNorm", |shape| {
            let places = places(shape, module.gamma.lazy_shape()[0])?;
            Ok((Box::new(Norm::rms(module, places)), shape.to_vec()))
        })
    }

    /// Normalises over groups of channels, the first axis.
    pub fn group_norm(self, module: &'a GroupNorm) -> Self {
        self.add("GroupNorm", |shape| {
            let channels = shape.first().copied().unwrap_or_default();
            fits("channels", module.num_channels, channels)?;
            let area = shape.iter().skip(1).product();
            Ok((Box::new(Norm::group(module, area)), shape.to_vec()))
        })
    }

    /// Flattens a record to one row of features.
    pub fn flatten(self) -> Self {
        let features: usize = self.shape.iter().product();
        self.reshape([features])
    }

    /// Reshapes a record to a shape of as many numbers.
    pub fn reshape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        let shape = shape.into();
        let [before, behind] = [&self.shape, &shape].map(|shape| shape.iter().product::<usize>());
        if before == behind {
            self.shape = shape;
            return self;
        }
        self.add("Reshape", |_| {
            Err(format!("takes {behind} numbers, and {before} reach it"))
        })
    }

    /// Swaps the two axes of a record: tokens, `[length, d]`, become a sequence, `[d, length]`.
    pub fn transpose(self) -> Self {
        self.add("Transpose", |shape| {
            let axes = sequence(shape)?;
            Ok((Box::new(Transpose(axes)), vec![axes[1], axes[0]]))
        })
    }

    /// Applies `y = mask * x`, with the same mask in every pass: [`dropout_mask`](super::dropout_mask) draws one.
    ///
    /// - `mask`: `[n, features]`, a row for each of the `n` records of the stack, so that each chunk of a batch needs
    ///   a stack of its own. It is public: it must not depend on any record.
    ///
    /// # Panics
    ///
    /// The stack panics on another number of records.
    pub fn dropout(self, mask: Tensor<2>) -> Self {
        self.add("Dropout", |shape| {
            fits("features", mask.dims()[1], shape.iter().product())?;
            Ok((Box::new(Dropout::new(mask)), shape.to_vec()))
        })
    }

    /// Computes `y = x + f(x)`: `inner` adds the layers of `f`.
    pub fn residual(self, inner: impl FnOnce(Self) -> Self) -> Self {
        self.add_inner("Residual", |shape| {
            let inner = inner(Self::new(shape)).checked()?;
            if inner.shape != shape {
                let found = &inner.shape;
                return Ok(Err(format!(
                    "adds {shape:?}, and its inner layers give {found:?}"
                )));
            }
            let layer = Residual {
                inner: Stack::new(inner.layers),
            };
            Ok(Ok((Box::new(layer) as Box<dyn Layer>, shape.to_vec())))
        })
    }

    /// Computes `y = [f(x), h(x)]` along the first axis, that of channels or features.
    pub fn concat(
        self,
        first: impl FnOnce(Self) -> Self,
        second: impl FnOnce(Self) -> Self,
    ) -> Self {
        self.add_inner("Concat", |shape| {
            let first = first(Self::new(shape)).checked()?;
            let second = second(Self::new(shape)).checked()?;
            let (one, other) = (&first.shape, &second.shape);
            if one.is_empty() || other.is_empty() || one[1..] != other[1..] {
                return Ok(Err(format!(
                    "puts {one:?} and {other:?} together, which differ"
                )));
            }
            let mut shape = one.clone();
            shape[0] += other[0];
            let layer = Concat {
                width: one.iter().product(),
                first: Stack::new(first.layers),
                second: Stack::new(second.layers),
            };
            Ok(Ok((Box::new(layer) as Box<dyn Layer>, shape)))
        })
    }

    /// Adds a layer unless an earlier one was refused.
    fn add(self, name: &'static str, make: impl FnOnce(&[usize]) -> Result<Added, Reason>) -> Self {
        self.add_inner(name, |shape| Ok(make(shape)))
    }

    /// Adds a layer that may have layers inside.
    fn add_inner(
        mut self,
        name: &'static str,
        make: impl FnOnce(&[usize]) -> Result<Result<Added, Reason>, LayerError>,
    ) -> Self {
        if self.error.is_some() {
            return self;
        }
        match make(&self.shape) {
            Ok(Ok((layer, shape))) => {
                self.layers.push(layer);
                self.shape = shape;
            }
            Ok(Err(reason)) => {
                self.error = Some(LayerError::Misfit {
                    number: self.layers.len() + 1,
                    layer: name,
                    reason,
                });
            }
            Err(error) => self.error = Some(error),
        }
        self
    }
}
