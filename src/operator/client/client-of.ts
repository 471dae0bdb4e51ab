import type {Clock} from '#src/base/clock.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import type {Client} from './client.js';
import {KindResolver} from './kind-resolver.js';
import {TypedClient} from './typed-client.js';

/** Returns the client of operators over another. Its writes have that field manager unless they name one. */
export const clientOf = (client: ResourceClients, {clock, fieldManager}: {readonly clock: Clock; readonly fieldManager: string}): Client =>
  client instanceof TypedClient ? client : new TypedClient({client, clock, fieldManager, resolver: new KindResolver(client, [])});
