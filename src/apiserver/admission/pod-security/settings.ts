import {open, type Policy} from './policy.js';

/** The default levels of namespaces, and the exemptions. */
export interface PodSecuritySettings {
  readonly defaults: Policy;
  readonly exempt: {
    readonly namespaces: ReadonlySet<string>;
    readonly usernames: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

/** By default everything is allowed, without exemptions. */
export const openSettings: PodSecuritySettings = {
  defaults: open,
  exempt: {namespaces: new Set(), usernames: new Set(), runtimeClasses: new Set()},
};
