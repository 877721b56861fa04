//! Scenario files: what they say as data, how they are read, and the agents that they script.
//!
//! - [`model`]: a scenario, validated: runtime, outside, agents, inputs, faults, expectations.
//! - `schema`: the shape of the files, for editors.
//! - [`script`]: the steps of a scripted agent, with references compiled to places.
//! - [`mod@format`]: from text to a scenario, or to an error with its place in the file.
//! - `gaps`: what a valid scenario leaves out.
//! - [`load`]: many inputs out of one line, from a seed in the file.
//! - [`code`]: what an agent type does: a script, or Rust code that a test brings along.
//! - [`agent`]: the scripted agent, an interpreter over the runtime's public face.
//! - `cast`, `desk`, [`run`]: the programs of a scenario's world, the clients of its users among them, and one scenario
//!   under one schedule.
//! - [`write`](mod@write), `layout`: scenarios that are written; `steps`: the way through a document's steps.
//! - [`expect`], [`judge`](mod@judge): what a scenario expects of its end, and the judgement.
//! - [`plans`]: what became of plans and memory, what is expected of them, profiles as a document.
//!
//! Nothing here decides anything at random.

pub mod agent;
mod cast;
pub mod code;
mod desk;
pub mod expect;
pub mod format;
mod gaps;
pub mod judge;
mod layout;
pub mod load;
pub mod model;
pub mod plans;
pub mod run;
#[cfg(feature = "cli")]
pub mod schema;
pub mod script;
#[cfg(test)]
mod shipped;
mod steps;
pub mod write;

pub use agent::{Stage, scripted};
pub use code::{Code, Make};
pub use expect::{
    AgentFact, Amount, Bound, DeadLetter, EffectCount, EffectFact, End, Ends, Expectation, ExpectationResult, Refused,
    RunEnd,
};
pub use format::{Instead, ScenarioError};
pub use judge::judge;
pub use model::{Act, AgentType, Alias, DeskCall, Input, RuntimeSettings, Scenario, UnknownAgentType};
pub use plans::profiles::Profiles;
pub use plans::{PlanEnd, UserEnd};
pub use run::{Options, Outcome, Runner};
pub use script::{Block, Node, Op, Script};
