import {kinds} from '#src/api/kinds/index.js';
import {localAvailability} from '#src/resources/apiregistration/apiservice.js';
import {defineController, settled} from '#src/runtime/controller.js';
import {availabilityReporter} from './condition.js';

/** Sets APIServices without a service to available: this server serves them. */
export const localAvailabilityLoop = defineController({
  doc: 'Reports that the versions this server serves itself are available.',
  name: 'apiservice-status-local-available-controller',
  primary: kinds.apiServices,
  queue: {name: 'LocalAvailabilityController', maxDelayMs: 30_000, unshared: true},
  workers: 32, // As many as register them.
  create({lister, writer, clock, meter}) {
    const objects = lister(kinds.apiServices);
    const {report, forget} = availabilityReporter({clock, meter, writer: writer(kinds.apiServices)});
    return async ({name}) => {
      const object = objects.get(name);
      if (!object) forget(name);
      else if (!object.spec?.service) await report(object, localAvailability);
      return settled;
    };
  },
});
