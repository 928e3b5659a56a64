//! Three networks that between them have every layer that a chain knows.

use burn::module::Module;
use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig,
};
use burn::nn::interpolate::{Interpolate2d, Interpolate2dConfig};
use burn::nn::pool::{
    AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig, AvgPool2d, AvgPool2dConfig, MaxPool1d,
    MaxPool1dConfig, MaxPool2d, MaxPool2dConfig,
};
use burn::nn::{
    Embedding, EmbeddingConfig, Gelu, GroupNorm, GroupNormConfig, LayerNorm, LayerNormConfig,
    LeakyRelu, LeakyReluConfig, Linear, LinearConfig, PaddingConfig2d, RmsNorm, RmsNormConfig,
    Softplus, SoftplusConfig,
};
use burn::tensor::Device;
use dp_core::per_sample::nn::Chain;
use private_training::{Layers, Network};

use super::sampled;

/// Images `[2, 8, 8]` to three classes.
#[derive(Module, Debug)]
pub struct Vision {
    stem: Conv2d,
    norm: GroupNorm,
    leaky: LeakyRelu,
    mixer: Conv2d,
    up: ConvTranspose2d,
    nearest: Interpolate2d,
    smooth: AvgPool2d,
    sharp: MaxPool2d,
    last: AdaptiveAvgPool2d,
    softplus: Softplus,
    fc: Linear,
}

impl Vision {
    /// With the same weights on every device.
    pub fn new(device: &Device) -> Self {
        let network = Self {
            // Strided, dilated and padded.
            stem: Conv2dConfig::new([2, 4], [3, 3])
                .with_stride([2, 1])
                .with_dilation([1, 2])
                .with_padding(PaddingConfig2d::Explicit(1, 2, 1, 2))
                .init(device),
            norm: GroupNormConfig::new(2, 4).init(device),
            leaky: LeakyReluConfig::new().init(),
            // In groups and without a bias.
            mixer: Conv2dConfig::new([4, 4], [1, 1])
                .with_groups(2)
                .with_bias(false)
                .init(device),
            up: ConvTranspose2dConfig::new([4, 2], [2, 2])
                .with_stride([2, 1])
                .init(device),
            nearest: Interpolate2dConfig::new()
                .with_scale_factor(Some([2.0, 2.0]))
                .init(),
            smooth: AvgPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            sharp: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            last: AdaptiveAvgPool2dConfig::new([2, 2]).init(),
            softplus: SoftplusConfig::new().init(),
            fc: LinearConfig::new(8, 3).init(device),
        };
        sampled(network, 1)
    }
}

impl Network<4> for Vision {
    fn layers(&self) -> Layers<'_, 4> {
        Layers::chain(
            Chain::image([2, 8, 8])
                .conv2d(&self.stem)
                .group_norm(&self.norm)
                .leaky_relu(&self.leaky)
                .residual(|inner| inner.conv2d(&self.mixer).tanh())
                .conv_transpose2d(&self.up)
                .sigmoid()
                .interpolate2d(&self.nearest)
                .avg_pool2d(&self.smooth)
                .max_pool2d(&self.sharp)
                .adaptive_avg_pool2d(&self.last)
                .softplus(&self.softplus)
                .flatten()
                .linear(&self.fc),
        )
    }
}

/// Signals `[2, 12]` to three classes.
#[derive(Module, Debug)]
pub struct Signal {
    conv: Conv1d,
    pool: MaxPool1d,
    left: Linear,
    right: Linear,
    fc: Linear,
}

impl Signal {
    /// With the same weights on every device.
    pub fn new(device: &Device) -> Self {
        let network = Self {
            conv: Conv1dConfig::new(2, 3, 3).init(device),
            pool: MaxPool1dConfig::new(2).with_stride(2).init(),
            left: LinearConfig::new(15, 4).init(device),
            right: LinearConfig::new(15, 2).with_bias(false).init(device),
            fc: LinearConfig::new(6, 3).init(device),
        };
        sampled(network, 2)
    }
}

impl Network<3> for Signal {
    fn layers(&self) -> Layers<'_, 3> {
        Layers::chain(
            Chain::sequence([2, 12])
                .conv1d(&self.conv)
                .silu()
                .max_pool1d(&self.pool)
                .flatten()
                .concat(|x| x.linear(&self.left), |x| x.linear(&self.right))
                .linear(&self.fc),
        )
    }
}

/// Five tokens of six to three classes.
#[derive(Module, Debug)]
pub struct Text {
    embedding: Embedding,
    layer: LayerNorm,
    inner: Linear,
    gelu: Gelu,
    rms: RmsNorm,
    fc: Linear,
}

impl Text {
    /// With the same weights on every device.
    pub fn new(device: &Device) -> Self {
        let network = Self {
            embedding: EmbeddingConfig::new(6, 4).init(device),
            layer: LayerNormConfig::new(4).init(device),
            inner: LinearConfig::new(4, 3).init(device),
            gelu: Gelu::new(),
            rms: RmsNormConfig::new(3).init(device),
            fc: LinearConfig::new(15, 3).init(device),
        };
        sampled(network, 3)
    }
}

impl Network<2> for Text {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(
            Chain::tokens(5)
                .embedding(&self.embedding)
                .layer_norm(&self.layer)
                .linear(&self.inner)
                .gelu(&self.gelu)
                .rms_norm(&self.rms)
                .flatten()
                .linear(&self.fc),
        )
    }
}
