import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import type {RateLimit} from '#src/client/limits.js';
import type {Delegate} from '#src/serving/delegation.js';

/** An increase of a client's rate limits, and the time limit of its calls. */
export interface Allowance {
  /** Limits of its own instead. */
  readonly rateLimit?: RateLimit;
  readonly qpsFactor?: number;
  readonly burstFactor?: number;
  readonly timeoutMs?: number;
}

/**
 * The API servers that review the tokens and the access of requests to a component's own port; undefined where no
 * review is configured.
 */
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
 * A component's connection to its API server: within the process (`in-process.ts`), or over HTTPS by a kubeconfig
 * (`src/cli/program/connection.ts`). Each client has limits of its own; `part` identifies its purpose in its user
 * agent.
 */
export interface ComponentConnection {
  readonly naming: Naming;
  /** A client with the component's own identity. */
  client(part: string, allowance?: Allowance): Client;
  /** A client with the identity of a service account of the system namespace. */
  accountClient(account: string, part: string, allowance?: Allowance): Client | Promise<Client>;
  /** A client for the lock of leader election. */
  lockClient(part: string, allowance?: Allowance): Client;
  reviewers(options: ReviewerOptions): Promise<Reviewers>;
  /** Whether a component opens its port only if `--secure-port` was given. */
  readonly opensPortOnlyOnRequest: boolean;
  /** The host that Events are reported from. */
  readonly host?: string;
  /** The PEM bundle of the server's CAs. */
  readonly authority?: string;
  /** The minimal duration of watches, where the informers' default is too short. */
  readonly watchSeconds?: number;
}
