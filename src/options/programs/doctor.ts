import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {upFlags} from './up.js';

const {'data-dir': dataDir, 'bind-address': bindAddress, 'secure-port': securePort} = upFlags.rows;

/** The flags of `plat doctor`. */
export const doctorFlags = flagTable({
  program: 'plat doctor',
  summary: 'Looks at this machine and says what it lacks for which feature, and what to do. Ends with 1 if plat up does not work.',
  sections: [
    flagSection('Checks', {
      'data-dir': {...dataDir, shownDefault: './.plat'},
      'bind-address': bindAddress,
      'secure-port': securePort,
      output: {type: 'string', help: 'The format.', default: 'text', oneOf: ['text', 'json'], shorthand: 'o'},
      ...commandLogging,
      ...help,
    }),
  ],
});
