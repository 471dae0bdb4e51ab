import type {VersionInfo} from '#src/api/version.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import {flagzRoute, statuszRoute, type ZPagePorts} from '#src/serving/administration/zpages.js';

export interface ZPageParts extends ZPagePorts {
  /** The component's name on each page. */
  readonly component: string | {readonly statusz: string; readonly flagz: string};
  readonly version: VersionInfo;
  flags(): Readonly<Record<string, string>>;
  gate(name: string): boolean;
}

/** The enabled z-pages of a component that starts now. `paths` returns the other served paths. */
export const zPages = (parts: ZPageParts, paths: () => readonly string[]): AdministrativeRoute[] => {
  const {component, version, flags, gate, clock} = parts;
  const {statusz, flagz} = typeof component === 'string' ? {statusz: component, flagz: component} : component;
  const pages = gate('ComponentFlagz') ? [flagzRoute({component: flagz, flags}, parts)] : [];
  if (!gate('ComponentStatusz')) return pages;
  return [
    ...pages,
    statuszRoute({component: statusz, version, startedAt: clock.now(), paths: () => [...paths(), ...pages.map(({path}) => path)]}, parts),
  ];
};
