import type {TargetTls} from '#src/transport/dial.js';

/** The credentials of this server towards node agents, and its trust in theirs. */
export interface AgentTrust {
  readonly verified: TargetTls;
  /** Without verification, for callers that allow it. */
  readonly unverified: TargetTls;
}

/** The settings of connections to node agents. */
export interface AgentAccess {
  /** The preferred types of node addresses, best first. */
  readonly addresses: readonly string[];
  readonly trust: {readonly current: AgentTrust};
  /** The time limit of a connection's setup. */
  readonly timeoutMs: number;
}
