import {flagTable} from '#src/options/flag.js';
import {limits} from '#src/options/platlet/limits.js';
import {node} from '#src/options/platlet/node.js';
import {resources} from '#src/options/platlet/resources.js';
import {serving} from '#src/options/platlet/serving.js';

/** The flags of `platlet`. */
export const platletFlags = flagTable({
  program: 'platlet',
  summary: 'The agent of a node: registers it and runs the containers of its pods.',
  sections: [serving, limits, resources, node],
  hasConfiguration: true,
  // Other rules between values are checked with the configuration file, which may have some of them.
  rules: [
    (options, given) =>
      options.runonce && options.enableServer && given.has('enable-server')
        ? '--runonce and --enable-server are mutually exclusive'
        : undefined,
  ],
});
