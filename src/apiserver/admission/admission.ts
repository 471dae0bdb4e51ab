// The contract of admission plugins. Their order is defined in admission-plugins.ts; chain.ts calls them.

import type {AuditLevel} from '#src/api/audit.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {Rules} from './followed-rules.js';
import type {Handles, Operation} from './handles.js';

/** The request behind an admission. */
export interface OriginalRequest {
  readonly info: {readonly query: URLSearchParams; readonly verb?: string; readonly resource?: {readonly subresource: string}};
  readonly auditId?: string;
  /** The client's deadline, by the monotonic clock. */
  readonly deadlineAt?: number | undefined;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Records the time spent in webhooks. */
  readonly times?: {webhooksMs: number; mutatingWebhooksMs?: number; storageMs?: number} | undefined;
  /** Whether the request may be moved to another thread, which is possible until something was done for it. */
  readonly mayMove?: boolean;
}

/** Takes what the plugin that is called decides, for the flight recorder. */
export interface DecisionNotes {
  noteDecision(decided: {
    readonly decision: 'changed' | 'refused' | 'warned';
    readonly by?: string;
    readonly fields?: readonly string[];
    readonly reason?: string;
  }): void;
}

/** The attributes of a request for admission. `group` is the group on the wire. */
export interface AdmissionAttributes {
  readonly operation: Operation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly namespace: string;
  /** The URL's name, or otherwise the object's; empty when it is still to be generated. */
  readonly name: string;
  /** The object to be stored; absent on DELETE. Mutating plugins may change it. */
  readonly object?: KubeObject | undefined;
  /** The stored object; absent on CREATE. Must not be changed. */
  readonly oldObject?: Readonly<KubeObject> | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Absent for the server's own writes. */
  readonly original?: OriginalRequest | undefined;
  /** The options of a deletion. */
  readonly deletion?: DeleteOptions | undefined;
  /** Whether the object is deleted as part of its collection. */
  readonly ofCollection?: boolean | undefined;
  /** Reports decisions to the flight recorder; absent without one. */
  notes?: DecisionNotes | undefined;
  /** Adds a `Warning` header. */
  warn(text: string): void;
  /** Adds an annotation to the request's audit event, from level `least` on; absent if no event is written. */
  readonly annotate?: ((key: string, text: string, least?: AuditLevel) => void) | undefined;
}

/** Whether a request is about a namespace itself; kinds of other groups may have the same plural. */
export const isNamespace = ({group, resource}: Pick<AdmissionAttributes, 'group' | 'resource'>): boolean =>
  group === '' && resource === 'namespaces';

export type Phase = 'admit' | 'validate';

/**
 * A plugin with two phases: `admit` may change the object and runs before validation, `validate` may not and runs after
 * it. Both refuse by throwing (`refuse` makes the usual 403). `admit` returns `again` when it changed something that
 * earlier plugins should see: then all run once more.
 */
export interface AdmissionPlugin {
  readonly name: string;
  /** The requests it is called for; all by default. Where the phases differ, each checks the rest itself. */
  readonly handles?: Handles;
  /** Whether it has no metrics, since it is not a plugin in the original. */
  readonly unmeasured?: boolean;
  /** What it works by, where objects configure that: without rules it is not called. */
  readonly rules?: Rules;
  /**
   * The fields that `admit` may change, such as `spec.tolerations` or `spec.containers[].resources`: the flight
   * recorder notes which of them it did. Of a field that is a list or a map its own values are compared, and not what
   * is in them.
   */
  readonly changes?: readonly string[];
  admit?(attributes: AdmissionAttributes): void | 'again' | Promise<void | 'again'>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
