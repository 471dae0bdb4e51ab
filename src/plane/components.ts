import {request} from 'node:https';
import type {Naming} from '#src/api/naming.js';
import type {ComponentHealth} from '#src/resources/definition.js';
import type {Store} from '#src/storage/store.js';

/** Where the other components say how they are, unless they were told otherwise. */
const ports = {scheduler: 10259, 'controller-manager': 10257} as const;
const patienceMs = 20_000;

const probe = (name: string, port: number): Promise<ComponentHealth> =>
  new Promise(resolve => {
    const url = `https://127.0.0.1:${port}/healthz`;
    const answer = (healthy: boolean, message: string) => resolve({name, healthy, message});
    // Whose certificate it is does not matter for what it is asked.
    const asked = request(url, {rejectUnauthorized: false, timeout: patienceMs}, response => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => answer(response.statusCode === 200, Buffer.concat(pieces).toString() || String(response.statusCode)));
    });
    asked.on('timeout', () => asked.destroy(new Error('it did not answer in time')));
    asked.on('error', ({message, ...error}: NodeJS.ErrnoException) =>
      answer(false, `Get ${JSON.stringify(url)}: ${error.code === 'ECONNREFUSED' ? `dial tcp 127.0.0.1:${port}: connect: connection refused` : message}`),
    );
    asked.end();
  });

const storeHealth = async (store: Store, naming: Naming): Promise<ComponentHealth> => {
  const name = `${naming.store}-0`;
  try {
    await store.revision();
    return {name, healthy: true, message: 'ok'};
  } catch (error) {
    return {name, healthy: false, message: String(error)};
  }
};

/** How the store and the components that stand beside a server are. */
export const componentsOf = (store: Store, naming: Naming) => async (): Promise<readonly ComponentHealth[]> =>
  Promise.all([...Object.entries(ports).map(([name, port]) => probe(name, port)), storeHealth(store, naming)]);
