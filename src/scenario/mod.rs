//! Scenario files: what they say as data, how they are read, and the agents that they script.
//!
//! - [`model`]: a scenario, validated: runtime, outside, agents, inputs, faults, expectations.
//! - [`script`]: the steps of a scripted agent, with references compiled to places.
//! - [`format`]: from text to a scenario, or to an error with its place in the file.
//! - [`load`]: many inputs out of one line, from a seed in the file.
//! - [`agent`]: the scripted agent, an interpreter over the runtime's public face.
//! - [`expect`]: what a scenario expects of its end, and the judgement.
//!
//! Nothing here decides anything at random, and nothing knows of schedules or transport.

pub mod agent;
pub mod expect;
pub mod format;
pub mod load;
pub mod model;
pub mod script;

pub use agent::{Stage, scripted};
pub use expect::{
    Bound, DeadLetter, EffectCount, EffectFact, End, Ends, Expectation, ExpectationResult, RunEnd, judge,
};
pub use format::ScenarioError;
pub use model::{Act, AgentScript, Alias, Input, RuntimeSettings, Scenario};
pub use script::{Block, Node, Op, Script};
