//! Parts on their bus, asked as a driver asks them: by bytes.

mod fuzz;
mod host;
mod power;
mod raw_nand;
mod spi_nand;
mod spi_nor;
mod table;
