import {open, type Policy} from './policy.js';

/** What holds where a namespace says nothing, and whom the standards leave alone. */
export interface PodSecuritySettings {
  readonly defaults: Policy;
  readonly exempt: {
    readonly namespaces: ReadonlySet<string>;
    readonly usernames: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

/** Everything is allowed unless a namespace says otherwise, and nobody is exempt. */
export const openSettings: PodSecuritySettings = {
  defaults: open,
  exempt: {namespaces: new Set(), usernames: new Set(), runtimeClasses: new Set()},
};
