import {isPending, type Eventually} from '#src/base/eventually.js';
import {jsonText} from '#src/base/json/json.js';
import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ServedVersion} from '#src/resources/definition.js';
import type {Versions} from '#src/schema/apply/tracking.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Resource, Siblings} from '#src/apiserver/registry/resource.js';

/** The versions of a built-in resource, for field ownership. They are converted through the hub. */
class BuiltInVersions implements Versions {
  readonly #resource: Resource;
  readonly #served: ReadonlyMap<string, ServedVersion<KubeObject> | undefined>;
  readonly #schemas = new Map<string, SchemaNode | undefined>();

  constructor(resource: Resource) {
    this.#resource = resource;
    const {naming} = resource.settings;
    const others = resource.definition.served?.otherVersions ?? [];
    this.#served = new Map([
      [resource.apiVersion, undefined],
      ...others.map(version => [naming.apiVersion(version.kind.group, version.kind.version), version] as const),
    ]);
  }

  schemaOf(apiVersion: string): SchemaNode | undefined {
    if (!this.#served.has(apiVersion)) return undefined;
    let schema = this.#schemas.get(apiVersion);
    if (!schema) {
      const {group, version, kind} = this.#served.get(apiVersion)?.kind ?? this.#resource.kind;
      schema = this.#resource.settings.schemas.of(group, version, kind);
      this.#schemas.set(apiVersion, schema);
    }
    return schema;
  }

  convert(object: PlainObject, from: string, to: string): PlainObject {
    if (from === to) return object;
    const {naming} = this.#resource.settings;
    const hub = this.#served.get(from)?.toHub(object as KubeObject, naming) ?? object;
    const converted = this.#served.get(to)?.fromHub(hub as KubeObject, naming) ?? hub;
    return {...converted, apiVersion: to, kind: this.#resource.kind.kind};
  }
}

const versions = new WeakMap<Resource, BuiltInVersions>();

const versionsOf = (resource: Resource): Versions => {
  let known = versions.get(resource);
  if (!known) versions.set(resource, (known = new BuiltInVersions(resource)));
  return known;
};

/** Thrown while a conversion is under way that has to be awaited. */
class ConversionPending extends Error {
  readonly conversion: Promise<void>;

  constructor(arrival: Promise<void>) {
    super('an object is being converted');
    this.conversion = arrival;
  }
}

export const isConversionPending = (error: unknown): boolean => error instanceof ConversionPending;

/** Whether an object has nothing but its kind and apiVersion. */
const isBlank = (object: PlainObject): boolean => Object.keys(object).every(field => field === 'apiVersion' || field === 'kind');

/**
 * The versions of a custom resource. The first use of an object that a webhook has to convert throws
 * `ConversionPending`; the next attempt finds the result.
 */
class CustomResourceVersions implements Versions {
  readonly #siblings: Siblings;
  readonly #known = new Map<string, PlainObject>();

  constructor(siblings: Siblings) {
    this.#siblings = siblings;
  }

  /** Throws for a version that is gone: managed fields in it can no longer be followed. */
  schemaOf(apiVersion: string): SchemaNode {
    const schema = this.#siblings.schemaOf(apiVersion);
    if (!schema) throw plainFailure(`request to convert CR to an invalid group/version: ${apiVersion}`);
    return schema;
  }

  convert(object: PlainObject, from: string, to: string): PlainObject {
    if (from === to) return object;
    if (isBlank(object)) return {...object, apiVersion: to};
    const key = `${to} ${jsonText(object)}`;
    const known = this.#known.get(key);
    if (known) return known;
    const converted = this.#siblings.convert(structuredClone({...object, apiVersion: from}), to);
    const remember = (found: KubeObject): PlainObject => {
      this.#known.set(key, found as PlainObject);
      return found as PlainObject;
    };
    if (isPending(converted)) throw new ConversionPending(converted.then(found => void remember(found)));
    return remember(converted);
  }
}

/**
 * Returns the result of `act`, which converts an object between versions. `act` must have no side effects: it runs
 * again after each conversion that has to be awaited. Rejects with the error of a failed conversion.
 */
export const acrossVersions = <T>(resource: Resource, act: (versions: Versions) => T): Eventually<T> => {
  const {siblings} = resource.settings;
  if (!siblings) return act(versionsOf(resource));
  const versions = new CustomResourceVersions(siblings);
  const attempt = (): Eventually<T> => {
    try {
      return act(versions);
    } catch (error) {
      if (error instanceof ConversionPending) return error.conversion.then(attempt);
      throw error;
    }
  };
  return attempt();
};
