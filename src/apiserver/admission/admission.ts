// The contract of admission plugins, and the loop that runs one phase of them. The order of plugins is defined in plugins.ts; the write pipeline of the
// registry decides when each phase runs.

import type {AuditLevel} from '#src/api/audit.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';

/** The request behind an admission. */
export interface OriginalRequest {
  readonly info: {readonly query: URLSearchParams};
  /** The client's deadline, by the monotonic clock. */
  readonly deadlineAt?: number | undefined;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
  /** Records the time spent in webhooks. */
  readonly times?: {webhooksMs: number; mutatingWebhooksMs?: number; storageMs?: number} | undefined;
  /** Whether the request may be moved to another thread, which is possible until something was done for it. */
  readonly mayMove?: boolean;
}

/** The attributes of a request for admission. `group` is the group on the wire. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
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
  readonly object?: KubeObject;
  /** The stored object; absent on CREATE. Must not be changed. */
  readonly oldObject?: Readonly<KubeObject>;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Absent for the server's own writes. */
  readonly original?: OriginalRequest | undefined;
  /** The options of a deletion. */
  readonly deletion?: DeleteOptions | undefined;
  /** Whether the object is deleted as part of its collection. */
  readonly ofCollection?: boolean | undefined;
  /** Adds a `Warning` header. */
  warn(text: string): void;
  /** Adds an annotation to the request's audit event, from level `least` on; absent if no event is written. */
  annotate?(key: string, text: string, least?: AuditLevel): void;
}

/**
 * A plugin with two phases: `admit` may change the object and runs before validation, `validate` may not and runs after it. Both refuse by throwing
 * (`refuse` makes the usual 403). `admit` returns `again` when it changed something that earlier plugins should see: then all run once more.
 */
export interface AdmissionPlugin {
  readonly name: string;
  admit?(attributes: AdmissionAttributes): void | 'again' | Promise<void | 'again'>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}

/** Runs the plugins of one phase in order. Awaits only promises: most plugins ignore most requests, and an await costs as much as they do. */
export const runPhase = async (
  plugins: readonly AdmissionPlugin[],
  phase: 'admit' | 'validate',
  attributes: AdmissionAttributes,
): Promise<void> => {
  let isCalled = false;
  for (const plugin of plugins) {
    const result = plugin[phase]?.(attributes);
    if ((result instanceof Promise ? await result : result) === 'again') isCalled = true;
  }
  if (isCalled) for (const plugin of plugins) await plugin[phase]?.(attributes);
};
