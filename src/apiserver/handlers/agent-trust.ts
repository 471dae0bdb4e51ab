import type {BackendTls} from '#src/transport/relay/backends.js';

/** The credentials of this server towards node agents, and its trust in theirs. */
export interface AgentTrust {
  readonly verified: BackendTls;
  /** Without verification, for callers that allow it. */
  readonly unverified: BackendTls;
}

/** The settings of connections to node agents. */
export interface AgentAccess {
  /** The preferred types of node addresses, best first. */
  readonly addresses: readonly string[];
  readonly trust: {readonly current: AgentTrust};
  /** The time limit of a connection's setup. */
  readonly timeoutMs: number;
}
