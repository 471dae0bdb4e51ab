import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import type {Delegate} from '#src/serving/delegation.js';

/** How much more than the client flags say a client may send, and how long a call may take. */
export interface Allowance {
  readonly qpsFactor?: number;
  readonly burstFactor?: number;
  readonly timeoutMs?: number;
}

/** The API servers that review the tokens and the access of requests to a component's own port; undefined where no review is configured. */
export interface Reviewers {
  readonly authentication: Delegate | undefined;
  readonly authorization: Delegate | undefined;
}

/** The kubeconfig files that name the reviewers of a component's own port. */
export interface ReviewerOptions {
  readonly authenticationKubeconfig: string;
  readonly authorizationKubeconfig: string;
}

/**
 * How a component reaches its API server: within the process (`in-process.ts`), or over HTTPS by a kubeconfig (`src/cli/connection.ts`). Each client
 * has limits of its own; `part` says in its user agent what it is for.
 */
export interface ComponentConnection {
  readonly naming: Naming;
  /** A client that acts as the component's own user. */
  client(part: string, allowance?: Allowance): Client;
  /** A client that acts as a service account of the system namespace. */
  accountClient(account: string, part: string, allowance?: Allowance): Client | Promise<Client>;
  /** A client for the lock of leader election. */
  lockClient(part: string, allowance?: Allowance): Client;
  reviewers(options: ReviewerOptions): Promise<Reviewers>;
  /** Whether a component opens its port only where `--secure-port` was given. */
  readonly opensPortOnlyIfAsked: boolean;
  /** The host that Events are reported from. */
  readonly host?: string;
  /** The PEM bundle by which the server is trusted. */
  readonly authority?: string;
  /** The least time the server is asked to keep a watch, where the informers' default is too short. */
  readonly watchSeconds?: number;
}
