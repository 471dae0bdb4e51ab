// Which program the executable is, by the name that it is called by or by its first argument.
'use strict';
const {basename} = require('node:path');

const shared = ['core', 'plat'];

/**
 * The programs by the names they are called by, and the scripts of each. The last two are those of test environments.
 */
const programs = {
  plat: {name: 'plat', scripts: shared},
  'plat-apiserver': {name: 'plat-apiserver', scripts: ['core', 'plat-apiserver']},
  'plat-controller-manager': {name: 'plat-controller-manager', scripts: shared},
  'plat-scheduler': {name: 'plat-scheduler', scripts: shared},
  'plat-dns': {name: 'plat-dns', scripts: shared},
  platlet: {name: 'platlet', scripts: shared},
  'plat-proxy': {name: 'plat-proxy', scripts: shared},
  'kube-apiserver': {name: 'plat-envtest-apiserver', scripts: shared},
  etcd: {name: 'plat-envtest-store', scripts: shared},
};

const isProgram = name => name !== undefined && Object.hasOwn(programs, name);

/**
 * Returns the program, and whether the first argument named it. Under any other name, such as the one of a release's
 * file, the executable is `plat`.
 */
const programOf = (calledBy, [first]) => {
  const name = basename(calledBy).replace(/\.exe$/i, '');
  if (isProgram(name) && name !== 'plat') return {...programs[name], fromArgument: false};
  return isProgram(first) ? {...programs[first], fromArgument: true} : {...programs.plat, fromArgument: false};
};

module.exports = {programOf, programNames: Object.keys(programs)};
