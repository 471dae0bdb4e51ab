import {kinds} from '#src/api/kinds/index.js';
import type {Client} from '#src/client/client.js';
import {systemPriorityClasses} from '#src/resources/scheduling/priorityclass.js';
import {ensureObject} from './ensure.js';

/** Creates the system priority classes, if they are missing. */
export const ensureSystemPriorityClasses = async (client: Client): Promise<void> => {
  const classes = client.resource(kinds.priorityClasses);
  await Promise.all(
    systemPriorityClasses.map(({name, value, description}) =>
      ensureObject(classes, {name}, found => (found ? undefined : {create: {metadata: {name}, value, description}})),
    ),
  );
};
