"use strict";
// Cubes of a grid, rendered with WebGL. A camera has two angles, `yaw` and `pitch`, and a factor `zoom`.
(() => {
  const VERTEX = `#version 300 es
    in vec3 corner, normal; in vec2 face; in vec3 place; in vec4 colour;
    uniform mat4 camera; uniform float size; uniform vec3 centre;
    out vec3 tint; out vec2 side; out float light;
    void main() {
      vec3 at = place - centre + corner * size;
      gl_Position = camera * vec4(at, 1.0);
      vec3 sun = normalize(vec3(0.35, -0.5, 0.8));
      light = 0.74 + 0.3 * max(0.0, dot(normal, sun)) + 0.08 * normal.z;
      tint = colour.rgb; side = face;
    }`;
  const FRAGMENT = `#version 300 es
    precision mediump float;
    in vec3 tint; in vec2 side; in float light; uniform float bevel; out vec4 pixel;
    void main() {
      vec2 edge = min(side, 1.0 - side);
      float rim = 1.0 - smoothstep(0.0, 0.09, min(edge.x, edge.y));
      float shade = light * (1.0 - bevel * 0.28 * rim);
      pixel = vec4(min(tint * shade, vec3(1.0)), 1.0);
    }`;
  const cube = () => {
    const corners = [], normals = [], faces = [];
    for (let axis = 0; axis < 3; axis++) for (const sign of [-0.5, 0.5]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      for (const [a, b] of [[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]]) {
        const corner = [0, 0, 0], normal = [0, 0, 0];
        [corner[axis], corner[u], corner[v], normal[axis]] = [sign, a - 0.5, b - 0.5, 2 * sign];
        corners.push(...corner); normals.push(...normal); faces.push(a, b);
      }
    }
    return { corners, normals, faces };
  };

  const compiled = (gl) => {
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    const attribute = (name, size, values, divisor, type = gl.FLOAT) => {
      const place = gl.getAttribLocation(program, name), buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      if (values) gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, type !== gl.FLOAT, 0, 0);
      gl.vertexAttribDivisor(place, divisor);
      return buffer;
    };
    const { corners, normals, faces } = cube();
    attribute("corner", 3, new Float32Array(corners), 0);
    attribute("normal", 3, new Float32Array(normals), 0);
    attribute("face", 2, new Float32Array(faces), 0);
    gl.enable(gl.DEPTH_TEST);
    return {
      gl,
      places: attribute("place", 3, null, 1),
      colours: attribute("colour", 4, null, 1, gl.UNSIGNED_BYTE),
      camera: gl.getUniformLocation(program, "camera"),
      size: gl.getUniformLocation(program, "size"),
      centre: gl.getUniformLocation(program, "centre"),
      bevel: gl.getUniformLocation(program, "bevel"),
    };
  };

  // The camera: a rotation about the vertical, then about the horizontal axis; no perspective.
  const turned = ({ yaw, pitch }, [x, y, z]) => {
    const [c, s, d, t] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    const [u, v] = [x * c + y * s, -x * s + y * c];
    return [u, v * t + z * d, v * d - z * t];
  };
  const AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  // Cells between the grid and the name of an axis, relative to the largest axis.
  const BESIDE = 0.04;
  const radius = (dims) => 0.5 * Math.hypot(...dims) + 0.3;
  // Pixels of the distance of two cells.
  const scaled = ({ zoom }, dims, width, height) => (zoom * Math.min(width, height)) / radius(dims) / 2;

  // Writes the names of the axes along the sides of the grid, with the direction in which they count.
  perfkit.axisLabels = (figure, canvas, renderer) => {
    const labels = AXES.map(() => perfkit.element("span", { class: "axis", hidden: "", "aria-hidden": "true" }));
    figure.append(...labels);
    return (camera, dims, names) => labels.forEach((label, at) => {
      const [from, to] = [0, dims[at] - 1].map((place) => renderer.project(camera, dims, dims.map((_, other) => (other === at ? place : -0.5 - BESIDE * Math.max(...dims)))));
      const [across, down] = [to[0] - from[0], to[1] - from[1]];
      // An axis that points towards the reader has no direction in the picture.
      label.hidden = !names[at] || Math.hypot(across, down) < 24;
      const turn = Math.atan2(down, across), isBack = Math.abs(turn) > Math.PI / 2 + 0.01;
      label.textContent = isBack ? "← " + names[at] : names[at] + " →";
      label.style.transform = `translate(-50%, -50%) rotate(${turn + (isBack ? Math.PI : 0)}rad)`;
      const inside = (value, most) => Math.min(most - 8, Math.max(8, value)) + "px";
      label.style.left = `calc(${canvas.offsetLeft}px + ${inside((from[0] + to[0]) / 2, canvas.clientWidth)})`;
      label.style.top = `calc(${canvas.offsetTop}px + ${inside((from[1] + to[1]) / 2, canvas.clientHeight)})`;
    });
  };

  // Returns the renderer of a canvas, or null without WebGL 2. `dims` are the numbers of cells, and `size` is the length of the
  // sides of a cube.
  perfkit.cubeRenderer = (canvas) => {
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) return null;
    const program = compiled(gl);
    let count = 0;
    const upload = (buffer, values) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    };
    return {
      // Replaces the cubes: three coordinates and four bytes of colour for each.
      fill: (places, colours) => {
        upload(program.places, places);
        upload(program.colours, colours);
        count = places.length / 3;
      },
      draw: (camera, dims, size, paper) => {
        const ratio = Math.min(2, window.devicePixelRatio || 1);
        const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((value) => Math.max(1, Math.round(value * ratio)));
        if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
        gl.viewport(0, 0, width, height);
        gl.clearColor(...paper, 1);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        const scale = scaled(camera, dims, width, height);
        const columns = AXES.map((axis) => turned(camera, axis));
        const matrix = columns.flatMap(([u, v, w]) => [(2 * scale * u) / width, (2 * scale * v) / height, w / (4 * radius(dims)), 0]);
        gl.uniformMatrix4fv(program.camera, false, [...matrix, 0, 0, 0, 1]);
        gl.uniform1f(program.size, size);
        gl.uniform1f(program.bevel, Math.min(1, scale / 14));
        gl.uniform3fv(program.centre, dims.map((len) => (len - 1) / 2));
        gl.drawArraysInstanced(gl.TRIANGLES, 0, 36, count);
      },
      // The place of a point of the grid in the pane, in pixels of the page.
      project: (camera, dims, place) => {
        const [width, height] = [canvas.clientWidth, canvas.clientHeight], scale = scaled(camera, dims, width, height);
        const [u, v] = turned(camera, place.map((value, at) => value - (dims[at] - 1) / 2));
        return [width / 2 + u * scale, height / 2 - v * scale];
      },
      // Returns the cube under the pointer: the nearest one whose box the line of sight meets.
      pick: (camera, dims, size, cubes, event) => {
        const bounds = canvas.getBoundingClientRect(), scale = scaled(camera, dims, bounds.width, bounds.height);
        // Rows of the rotation are the screen's axes in the grid's directions.
        const rows = AXES.map((axis) => turned(camera, axis));
        const [u, v] = [(event.clientX - bounds.left - bounds.width / 2) / scale, (bounds.top + bounds.height / 2 - event.clientY) / scale];
        const base = rows.map((row) => u * row[0] + v * row[1]), sight = rows.map((row) => row[2]);
        const half = size / 2;
        let best = null, nearest = Infinity;
        for (const cube of cubes) {
          let [enter, leave] = [-Infinity, Infinity];
          for (let at = 0; at < 3; at++) {
            const middle = cube.place[at] - (dims[at] - 1) / 2 - base[at];
            if (Math.abs(sight[at]) < 1e-9) {
              if (Math.abs(middle) > half) enter = Infinity;
              continue;
            }
            const [a, b] = [(middle - half) / sight[at], (middle + half) / sight[at]];
            enter = Math.max(enter, Math.min(a, b));
            leave = Math.min(leave, Math.max(a, b));
          }
          if (enter <= leave && enter < nearest) [best, nearest] = [cube, enter];
        }
        return best;
      },
    };
  };
})();
