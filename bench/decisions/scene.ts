import {ApiClient, createNamespace} from '#bench/load/api-client.js';
import {Child} from '#bench/load/child.js';
import {adminTls, type ManyLoad} from '#bench/load/many-load.js';
import {scratch} from '#bench/load/programs.js';
import type {MemoryPart} from './parts.js';
import type {DecisionServer, Message, Usage} from './server.js';

/** A server of which parts are switched off, and its clients. */
export interface Scene extends AsyncDisposable {
  readonly client: ApiClient;
  ask(message: Message): Promise<Usage>;
  /** Runs an operation of the subject `many`. */
  many(operation: string): Promise<unknown>;
}

interface SceneSettings {
  /** The number of config maps in namespace `many`. */
  readonly count: number;
  readonly without?: readonly MemoryPart[];
  /** The number of readers that stall. */
  readonly readers?: number;
}

/** Starts a server with config maps in namespace `many` and none in `made`. */
export const startScene = async ({count, without = [], readers = 0}: SceneSettings): Promise<Scene> => {
  const directory = await scratch();
  const child = new Child('../decisions/server.js', {directory, count, without} satisfies DecisionServer);
  const {url} = await child.answer<{url: string}>();
  const load = new Child('many-load.js', {directory, url, readers} satisfies ManyLoad);
  await load.answer();
  const client = new ApiClient({url, pki: adminTls(directory)});
  for (const name of ['many', 'made']) await createNamespace(client, name);
  return {
    client,
    ask: message => child.ask<Usage>(message),
    many: operation => load.ask(operation),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await load.stop();
      await child.stop();
    },
  };
};
