// What a check asks of the cluster about the objects of the files: the kinds it serves, what is there already, and what
// the user may do.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isForbidden, isNotFound, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {inNamespace} from '#src/client/in-namespace.js';
import {ServedKinds} from '#src/client/served-kinds.js';

/** An object that was asked for: what there is, or nothing, or neither, as the user may not read it. */
export type Looked<T extends KubeObject = KubeObject> = {readonly is: 'there'; readonly object: T} | {readonly is: 'absent' | 'unreadable'};

/** A right to be asked for. */
export interface Right {
  readonly verb: string;
  readonly kind: Kind;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export class CheckedCluster {
  readonly client: Client;
  readonly served: ServedKinds;
  readonly #answers = new Map<string, Promise<unknown>>(); // As many as the files name namespaces, kinds and objects.

  constructor(client: Client) {
    this.client = client;
    this.served = new ServedKinds(client);
  }

  async look<T extends KubeObject>(kind: Kind<T>, name: string, namespace?: string): Promise<Looked<T>> {
    try {
      return {is: 'there', object: await this.client.resource(kind).get(name, inNamespace(namespace))};
    } catch (error) {
      if (isNotFound(error)) return {is: 'absent'};
      if (isForbidden(error)) return {is: 'unreadable'};
      throw error;
    }
  }

  /** Whether a namespace is there. One that the user may not read is taken to be. */
  hasNamespace(name: string): Promise<boolean> {
    return this.#once(`namespace ${name}`, async () => (await this.look(kinds.namespaces, name)).is !== 'absent');
  }

  /** Whether the user may do something; yes if the server does not tell. */
  may({verb, kind, namespace, name}: Right): Promise<boolean> {
    const group = this.client.naming.group(kind.group);
    const resourceAttributes = {verb, group, resource: kind.plural, ...inNamespace(namespace), ...(name ? {name} : {})};
    return this.#once(`right ${JSON.stringify(resourceAttributes)}`, async () => {
      try {
        const {status} = await this.client.resource(kinds.selfSubjectAccessReviews).create({spec: {resourceAttributes}});
        return status?.allowed ?? true;
      } catch (error) {
        if (error instanceof StatusError) return true; // The write itself will tell.
        throw error;
      }
    });
  }

  #once<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known) return known as Promise<T>;
    const answer = ask();
    this.#answers.set(key, answer);
    return answer;
  }
}
