import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';

/** The flags of `plat envtest`. */
export const envtestFlags = flagTable({
  program: 'plat envtest',
  summary:
    'Lets test environments for Go, Java, Python and Rust (envtest) start plat: path prints a folder of programs for KUBEBUILDER_ASSETS, exec runs a command with it. Give -- before the command.',
  positional: 'path | exec -- COMMAND [ARGS...]',
  sections: [
    flagSection('Environment', {
      controllers: {
        type: 'bool',
        help: 'With exec: run the controllers, the scheduler and simulated nodes too, as PLAT_ENVTEST_CONTROLLERS=1 does. PLAT_ENVTEST_NODES is the number of nodes (default 1).',
        default: 'false',
      },
    }),
    flagSection('Output', {...commandLogging, ...help}),
  ],
});
