import {flagSection, flagTable} from '#src/options/flag.js';
import {commandLogging, help} from '#src/options/shared/logging.js';
import {planeNaming} from '#src/options/shared/naming.js';

/** The flags of `plat demo`. */
export const demoFlags = flagTable({
  program: 'plat demo',
  summary:
    'Runs a control plane in a temporary directory, has certificates requested, approved, signed and used on it, and narrates each step.',
  sections: [
    flagSection('Demo', {
      agent: {
        type: 'bool',
        help: "Run a node with real containers too, by this machine's container runtime (docs/nodes.md).",
        default: 'false',
      },
      'agent-arg': {type: 'each', help: 'A flag for the agent of that node, as --agent-arg=--flag=value. Repeatable.', requires: ['agent']},
      image: {type: 'string', help: 'The image of the containers, with a shell.', default: 'busybox', requires: ['agent']},
      ...planeNaming,
      ...commandLogging,
      ...help,
    }),
  ],
});
