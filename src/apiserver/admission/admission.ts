import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';

/** How much of a request is told in its audit event. */
export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse';

/** The request behind an admission, as far as it is of interest there. */
export interface OriginalRequest {
  readonly info: {readonly query: URLSearchParams};
  /** When the caller stops waiting, by the monotonic clock. */
  readonly deadlineAt?: number | undefined;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
  /** Where the time that webhooks took is noted. */
  readonly times?: {webhooksMs: number} | undefined;
  /** Whether the request may be handed to another thread as long as nothing was done for it. */
  readonly mayMove?: boolean;
}

/** One request as admission sees it. `group` is on the wire's spelling. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly namespace: string;
  /** The URL's name, else the object's; empty when it is still to be generated. */
  readonly name: string;
  /** What would be stored; absent on DELETE. Mutating plugins may change it. */
  readonly object?: KubeObject;
  /** What is stored; absent on CREATE. Never to be changed. */
  readonly oldObject?: Readonly<KubeObject>;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Absent for what the server does by itself. */
  readonly original?: OriginalRequest | undefined;
  /** The options of a deletion. */
  readonly deletion?: DeleteOptions | undefined;
  /** Whether the object is one of a collection that is deleted as a whole. */
  readonly ofCollection?: boolean | undefined;
  /** Adds a `Warning` header. */
  warn(text: string): void;
  /** Notes something in the request's audit event; absent where none is written. Only from `least` on, if that is given. */
  annotate?(key: string, text: string, least?: AuditLevel): void;
}

/**
 * A plugin's two phases: `admit` may change the object and runs before validation, `validate` may not and runs after it. Either refuses by throwing
 * (`refuse` makes the usual 403). `admit` answers `again` when it changed something that plugins before it should see: then all run once more.
 */
export interface AdmissionPlugin {
  readonly name: string;
  admit?(attributes: AdmissionAttributes): void | 'again' | Promise<void | 'again'>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}

/** Runs the plugins of one phase in order. Waits only for those that have to wait: most have nothing to say of most requests, and each wait costs as much as they do. */
export const runPhase = async (plugins: readonly AdmissionPlugin[], phase: 'admit' | 'validate', attributes: AdmissionAttributes): Promise<void> => {
  let isCalled = false;
  for (const plugin of plugins) {
    const answer = plugin[phase]?.(attributes);
    if ((answer instanceof Promise ? await answer : answer) === 'again') isCalled = true;
  }
  if (isCalled) for (const plugin of plugins) await plugin[phase]?.(attributes);
};
