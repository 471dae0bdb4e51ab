import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {ServedKinds} from '#src/client/served-kinds.js';
import {conditionOf, isTrue} from '#src/resources/apiextensions/conditions.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {accountIn} from './account.js';
import {isOf, stagesOf} from './order.js';
import {failureAt, type Document, type NamedObject} from './read.js';
import {waitTimeoutMs, waitFor} from './wait-for.js';
import {withLocalWebhooks, type LocalServing} from './webhooks.js';

export interface ApplyParts {
  readonly client: Client;
  readonly clock: Clock;
  /** Whether a controller creates the default service account of every namespace, which pods require. */
  readonly makesAccounts: boolean;
  /** The local server of the manifests' webhooks, instead of the services they name. */
  readonly serving?: LocalServing | undefined;
}

/** The field manager of applied fields. */
const fieldManager = 'plat';
/** The namespace of objects without one. */
const defaultNamespace = 'default';

/**
 * Applies manifests in a working order: namespaces and definitions of custom resources, once those are served
 * everything else, and last the objects that affect other writes. Fields of the manifests overwrite those of other
 * managers. Rejects at the first refusal with an error of one line that names file, document and field. Resolves to the
 * stored objects, in the order written.
 */
export const applyManifests = async (written: readonly Document[], parts: ApplyParts): Promise<KubeObject[]> => {
  const {client, serving} = parts;
  const documents = written.map((document): Document => ({
    ...document,
    object: serving ? withLocalWebhooks(document.object, serving, client.naming) : document.object,
  }));
  const {namespaces, definitions, others} = stagesOf(documents, client.naming);
  const applied = new Map<Document, KubeObject>();
  const apply = async (stage: readonly Document[]) => {
    const served = new ServedKinds(client); // Discovery is read anew, since the previous stage may have added kinds.
    for (const document of stage) applied.set(document, await at(document, () => applyOne(document, served, parts)));
  };
  await apply(namespaces);
  await apply(definitions);
  await Promise.all(definitions.map(document => at(document, () => established(document, parts))));
  await apply(others);
  return documents.map(document => applied.get(document)!);
};

const at = async <T>({place}: Document, run: () => Promise<T>): Promise<T> => {
  try {
    return await run();
  } catch (error) {
    throw failureAt(place, error);
  }
};

const applyOne = async (document: Document, served: ServedKinds, parts: ApplyParts): Promise<KubeObject> => {
  const {client} = parts;
  const {object} = document;
  const kind = await served.of(object);
  const namespace = kind.namespaced ? (object.metadata.namespace ?? defaultNamespace) : undefined;
  if (namespace && parts.makesAccounts && isOf(document, kinds.pods, client.naming)) await accountIn(namespace, parts);
  return client
    .resource(kind)
    .patch(object.metadata.name, 'apply', inNamespace(object, namespace), {fieldManager, force: true, ...(namespace ? {namespace} : {})});
};

const inNamespace = (object: NamedObject, namespace: string | undefined): NamedObject =>
  namespace ? {...object, metadata: {...object.metadata, namespace}} : object;

/** Reasons of a condition that is about to change. */
const transientReasons: ReadonlySet<string> = new Set(['NotAccepted', 'Installing']);

/** Resolves once all served versions of a definition's resource are available. */
const established = async ({object}: Document, {client, clock}: ApplyParts): Promise<void> => {
  let definition: Definition | undefined;
  await waitFor({
    client,
    clock,
    kind: kinds.customResourceDefinitions as Kind<Definition>,
    name: object.metadata.name,
    isThere(found) {
      definition = found;
      if (isTrue(found, 'Established')) return true;
      const refused = [conditionOf(found, 'NamesAccepted'), conditionOf(found, 'Established')].find(
        condition => condition?.status === 'False' && !transientReasons.has(condition.reason ?? ''),
      );
      if (refused) throw new Error(`the definition is not established: ${refused.message}`);
      return false;
    },
    late: last =>
      `the definition is not established after ${waitTimeoutMs / 1000} s${last?.status?.conditions?.map(({type, status, message}) => `; ${type} is ${status}: ${message}`).join('') ?? ''}`,
  });
  const {group, names, versions} = definition!.spec;
  const deadline = clock.monotonic() + waitTimeoutMs;
  for (const {name} of versions.filter(({served}) => served)) {
    while (!(await isServed(client, `${group}/${name}`, names.kind))) {
      if (clock.monotonic() > deadline) throw new Error(`${names.kind} in ${group}/${name} is not served after ${waitTimeoutMs / 1000} s`);
      await sleep(clock, 10);
    }
  }
};

const isServed = (client: Client, apiVersion: string, kind: string): Promise<boolean> =>
  new ServedKinds(client).of({apiVersion, kind}).then(
    () => true,
    () => false,
  );
