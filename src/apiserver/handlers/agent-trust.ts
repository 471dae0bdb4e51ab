import type {BackendTls} from '#src/transport/relay/backends.js';

/** How agents of nodes and this server prove themselves to each other. */
export interface AgentTrust {
  readonly verified: BackendTls;
  /** For callers who do not care who answers them. */
  readonly unverified: BackendTls;
}

/** What there is to know about reaching agents. */
export interface AgentAccess {
  /** Types of addresses by which agents of nodes are reached, best first. */
  readonly addresses: readonly string[];
  readonly trust: {readonly current: AgentTrust};
  /** How long it may take to reach one. */
  readonly timeoutMs: number;
}
