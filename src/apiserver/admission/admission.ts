import type {KubeObject} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';

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
  /** Adds a `Warning` header. */
  warn(text: string): void;
  /** Notes something in the request's audit event; absent where none is written. */
  annotate?(key: string, text: string): void;
}

/**
 * A plugin's two phases: `admit` may change the object and runs before validation, `validate` may not and runs after it. Either refuses by throwing
 * (`refuse` makes the usual 403).
 */
export interface AdmissionPlugin {
  readonly name: string;
  admit?(attributes: AdmissionAttributes): void | Promise<void>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}

/** Runs the plugins of one phase in order. Resolves synchronously when no plugin has to wait. */
export const runPhase = async (plugins: readonly AdmissionPlugin[], phase: 'admit' | 'validate', attributes: AdmissionAttributes): Promise<void> => {
  for (const plugin of plugins) await plugin[phase]?.(attributes);
};
