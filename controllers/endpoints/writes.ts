import type {OwnWrites} from '#controllers/shared/own-writes.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {hasCause} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {Endpoints} from './subsets.js';

/** Writes Endpoints of the service with a key; a failure is an event of them. */
export const endpointsWriter = ({writer, events}: Pick<KeyedContext, 'writer' | 'events'>, written: OwnWrites) => ({
  async create(object: Endpoints, key: string): Promise<void> {
    try {
      await writer(kinds.endpoints).create(object);
    } catch (error) {
      // Nothing can be created in a terminating namespace.
      if (hasCause(error, 'NamespaceTerminating')) return;
      events.warning(object, 'FailedToCreateEndpoint', `Failed to create endpoint for service ${key}: ${messageOf(error)}`);
      throw error;
    }
  },
  async update(object: Endpoints, key: string): Promise<void> {
    try {
      written.wrote((await writer(kinds.endpoints).update(object)) as Frozen<Endpoints>);
    } catch (error) {
      events.warning(object, 'FailedToUpdateEndpoint', `Failed to update endpoint ${key}: ${messageOf(error)}`);
      throw error;
    }
  },
});
