import type {GroupToken} from './naming.js';
import type {KubeObject} from './types.js';

/**
 * The handle of a kind in one version, shared by server, clients and informers. `T` is the type of its objects, and
 * `Name` its literal name where that is known, so that kinds whose objects have equal fields are told apart.
 */
export interface Kind<T extends KubeObject = KubeObject, Name extends string = string> {
  readonly group: GroupToken;
  readonly version: string;
  readonly kind: Name;
  readonly plural: string;
  readonly singular: string;
  /** The kind of its lists. */
  readonly listKind: string;
  readonly namespaced: boolean;
  /** The upstream release that introduced the version, for example `1.34`; absent for old or unreleased ones. */
  readonly introduced?: string;
  /** Carries only the type; never set. */
  readonly type?: T;
}

/** Creates a handle. */
export const kind = <T extends KubeObject>(
  group: GroupToken,
  version: string,
  name: string,
  plural: string,
  namespaced: boolean,
  introduced?: string,
): Kind<T> => ({
  group,
  version,
  kind: name,
  plural,
  singular: name.toLowerCase(),
  listKind: `${name}List`,
  namespaced,
  ...(introduced === undefined ? {} : {introduced}),
});

const minorOf = (release: string): number => Number(release.split('.')[1]);

/** Returns whether a release such as `1.32` has the version of a kind. */
export const isIntroduced = ({introduced}: Kind, release: string): boolean =>
  introduced === undefined || minorOf(introduced) <= minorOf(release);

/**
 * The handle of a custom resource, by its group on the wire. `T` is the type of its objects; `customKind<Backup,
 * 'Backup'>` also gives the handle its name, so that the compiler tells it from kinds with equal fields.
 */
export const customKind = <T extends KubeObject, Name extends string = string>(of: {
  readonly group: string;
  readonly version: string;
  readonly kind: Name;
  readonly plural: string;
  readonly namespaced?: boolean;
}): Kind<T, Name> =>
  // Such groups have no naming suffix: their token is their name.
  kind<T>(of.group as GroupToken, of.version, of.kind, of.plural, of.namespaced ?? true) as Kind<T, Name>;
