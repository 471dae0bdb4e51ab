import type {GeneratedFile} from '#src/codegen/generated-file.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {generated} from './project/generated.js';
import type {OperatorProject} from './project/operator-project.js';

/** Returns the file that installs the operator: `kubectl apply --server-side -f install.yaml`. */
export const installFiles = ({objects}: OperatorProject): readonly GeneratedFile[] => [
  {name: 'install.yaml', text: `${generated}${objects.map(yamlText).join('---\n')}`},
];
