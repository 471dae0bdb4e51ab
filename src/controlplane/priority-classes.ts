import {kinds} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import type {Client} from '#src/client/client.js';
import {systemPriorityClasses} from '#src/resources/scheduling/priorityclass.js';

/** Makes the priority classes of what a cluster cannot do without, if they are missing. */
export const ensureSystemPriorityClasses = async (client: Client): Promise<void> => {
  const classes = client.resource(kinds.priorityClasses);
  await Promise.all(
    systemPriorityClasses.map(async ({name, value, description}) => {
      try {
        await classes.get(name);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await classes.create({metadata: {name}, value, description}).catch((failure: unknown) => {
          if (!isAlreadyExists(failure)) throw failure;
        });
      }
    }),
  );
};
