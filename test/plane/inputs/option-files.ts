export const alone = {controllerManagerArgs: ['--controllers=']};
