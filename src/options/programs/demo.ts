import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {planeNaming} from '#src/options/shared/naming.js';

/** The flags of `plat demo`. */
export const demoFlags = flagTable({
  program: 'plat demo',
  summary:
    'Runs a control plane in a temporary directory, has certificates requested, approved, signed and used on it, and narrates each step.',
  sections: [flagSection('Demo', {...planeNaming, ...commandLogging, ...help})],
});
